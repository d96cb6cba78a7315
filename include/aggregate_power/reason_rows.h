// The list of reasons, from which reason.h makes the enumeration and reason.cpp the table. Whoever
// includes it defines REASON(name, group, meaning, causes, remedy).
REASON(
    invalid_benchmark_result, run,
    "the benchmark result cannot be read, is not JSON (the message gives line and column), or is not an object",
    "the path is mistyped, the load generator was stopped before it wrote its result, or it wrote log lines into the same file",
    "check the path, and that the benchmark finished writing its result: one JSON object")
REASON(
    invalid_benchmark_window, run,
    "start, end or duration is missing or is not a finite number (schema 2: booleans are not numbers); or the end is not after the start; or the duration is not above 0. All three must come from one clock",
    "the load generator does not write the times, the run was stopped early, or start and end come from two clocks or are in two units",
    "the result needs finite benchmark_start_time_unix < benchmark_end_time_unix and duration > 0; or run the load with 'aggregate-power-monitor run -- CMD', or give --start and --end")
REASON(
    benchmark_duration_mismatch, run,
    "`duration` differs from end - start by more than 0.5 s and more than 1 %, also of a given window (`--start`, `--end`): the counts are those of the whole load",
    "times in milliseconds, a duration that counts something else than the load, or a clock that was set during the run",
    "start, end and duration must all be in seconds and agree; if they do not, the clock was set during the run: run it again on a host with a steady clock")
REASON(invalid_successful_query_count, run, "`completed` is not a whole number above 0",
       "the server refused all requests, or the load generator names its count otherwise",
       "'completed' must be a whole number above 0: no request succeeded, or the key is missing")
REASON(invalid_input_token_count, run, "`total_input_tokens` is not a whole number above 0",
       "no request succeeded, or the load generator does not count input tokens",
       "'total_input_tokens' must be a whole number above 0")
REASON(
    invalid_output_token_count, run,
    "`total_output_tokens` is not a whole number above 0; schema 1 reports nothing without it either",
    "no request succeeded, or the load generator does not count output tokens",
    "'total_output_tokens' must be a whole number above 0")
REASON(
    invalid_expected_gpu_count, run,
    "`--expected-num-gpus` is not above 0, or it is `auto` and neither the aggregate nor the result says how many GPUs there were, or what one of them states there (`tp`, `num_gpus`, `world_size`) is not a number",
    "a shell variable that was never set to the number of GPUs",
    "give --expected-num-gpus a number above 0")
REASON(invalid_max_sample_gap, run, "`--max-sample-gap` is not a finite number above 0",
       "a shell variable with another value, or a unit behind the number",
       "give --max-sample-gap a finite number of seconds above 0")
REASON(
    telemetry_file_missing, run,
    "the telemetry (`--csv` or `$GPU_METRICS_CSV`) is missing or is not a regular file",
    "a mistyped path, another working folder than the recorder's, or a recorder that never started",
    "start the monitor before the load, and check the path of its file")
REASON(telemetry_file_empty, run, "the telemetry has no bytes, or expands to none",
       "the recorder was killed before its first row, sees no GPU, or cannot run its vendor tool",
       "the monitor wrote nothing: check that it can see the GPUs")
REASON(
    telemetry_file_unreadable, run,
    "the telemetry cannot be opened or read, or a quote in it was never closed (the message names the line); or its zone file exists and cannot be used",
    "another user owns the file, it was cut off while it was copied, or its zone file is damaged",
    "check the file's permissions, and whether it was cut off or a quote in it was never closed; if the fault is in its zone file, correct that file or pass --timezone")
REASON(timestamp_column_missing, run, "the header has no column of absolute times",
       "the recorder was not asked for times, or names them in a way that is not known",
       "record a column of absolute times, or name it with --timestamp-column")
REASON(
    power_column_missing, run, "the header has no column of power draw",
    "the recorder was not asked for power, the GPU does not report it, or its column has a name that is not known",
    "record a column of power draw, or name it with --power-column")
REASON(
    gpu_identity_column_missing, run,
    "no column identifies the GPUs, such as an index or a UUID (schema 2, and with `--gpus`); with `--expected-num-gpus 1` also: the rows may be of several GPUs",
    "the recorder was not asked for an index or UUID, as is usual with a single GPU",
    "pass --expected-num-gpus 1 if all rows are of one GPU; else record a column that tells the GPUs apart, as in 'nvidia-smi --query-gpu=timestamp,index,uuid,power.draw --format=csv -l 1', or name it with --device-column")
REASON(
    invalid_timestamp_sample, run,
    "a row that may be in the window, or within `--max-sample-gap` of it, has no readable time; `aggregate-power inspect FILE` counts such rows. They are often stray lines",
    "messages of the vendor tool between the rows, two recorders that write to one file, or a time format that is not known",
    "rows without a readable time make the whole recording doubtful: fix the recorder, or name another column with --timestamp-column")
REASON(
    invalid_power_sample, run,
    "a row inside the window has no usable reading, a negative reading, or more cells than the header: the sensor or the driver failed for a moment",
    "a GPU that was reset or fell off the bus, a driver that was busy, or lines that were torn apart",
    "some rows in or near the window have no usable power reading: check the recorder's log")
REASON(gpu_identity_missing, run,
       "a row within `--max-sample-gap` of the window does not name its GPU; fix the recorder",
       "a recorder that leaves the cell empty when a GPU does not answer",
       "some rows in or near the window do not name their GPU")
REASON(
    no_usable_power_samples, run,
    "the recording and the window do not overlap; the message names a `--timezone` that would fit, if there is one",
    "timestamps in another time zone, recorder and load on machines with different clocks, the file of another run, or times in another unit",
    "no power reading could be used: check the clocks, the time zone and the file")
REASON(
    expected_gpu_count_mismatch, run, "more or fewer GPUs were seen than expected",
    "the recorder samples GPUs that the run did not use or misses some, a GPU has two names, or the number that was given is that of another run",
    "record all GPUs of the run and no others, choose them with --gpus, or correct --expected-num-gpus")
REASON(insufficient_power_samples, run,
       "a GPU has fewer than two samples in or near the window, or none in it",
       "a very short load, a long interval of the recorder, or a GPU that answered only once",
       "a GPU has too few samples in or near the window: sample more often")
REASON(
    benchmark_window_not_bracketed, run,
    "a GPU's samples begin after the window's start or stop before its end",
    "the recorder was started after the load began or stopped before it ended, or the clocks of recorder and load differ by a little",
    "start the monitor before the load and let it take a sample after the load; samples further apart than --max-sample-gap do not bracket the window either: sample more often, or allow a longer gap")
REASON(
    sampling_gap_exceeded, run, "the gap between two samples of a GPU is longer than allowed",
    "a recorder that was starved of CPU time, a hung vendor tool, a suspended machine, or an interval near the limit",
    "the gap between samples is too long: sample more often, or allow a longer gap with --max-sample-gap")
REASON(aggregate_result_missing, run, "the aggregate is missing or is not a regular file",
       "a mistyped path, or a summary that is only written later",
       "write the aggregate result before calling this tool")
REASON(
    aggregate_result_unwritable, run,
    "the aggregate is not a JSON object; or it is an input of the run (for a package: its `manifest.json`, `samples.csv`, `power-producer-sha.txt`, any file in `windows` and `cpu`, and each result that a window names); or it cannot be replaced (permissions, space, file system); or it is a link that leads out of its store; or a metric is too large for a number. Its bytes are unchanged. If the disk is full, the file system is read-only or a permission is missing, the message and a backfill's summary say so, and what to do",
    "another user owns the file, a full disk, a read-only mount, or the same file given twice",
    "the aggregate must be one JSON object, in a file and folder that can be written, and must not be an input of the run; it was left unchanged")

// For packages of several nodes; contract.md C.3.
REASON(
    power_artifacts_missing, nodes,
    "the power folder is missing; check `--power-dir` of `multinode`, or `$POWER_ARTIFACT_DIR` of a run on one node",
    "the recorder was not enabled in the job, or its folder was left on the compute node",
    "check that the recorder ran and that its folder LOGS/power was copied back; --power-dir of multinode, or $POWER_ARTIFACT_DIR of a run on one node, names that folder")
REASON(manifest_missing, nodes, "the power folder has no `manifest.json`",
       "the recorder was killed before it finished, or only a part of the folder was copied",
       "the recorder writes manifest.json beside samples.csv: copy the whole folder")
REASON(
    manifest_malformed, nodes,
    "the manifest is not a JSON object, or its devices or windows are not what the recorder writes",
    "a copy that was cut off, or another program's manifest.json",
    "manifest.json must be the object that the recorder wrote: copy it again")
REASON(
    producer_pin_missing, nodes, "no trusted recorder was named",
    "neither the option nor the environment names a commit",
    "name the commit of the recorder that you trust with --expected-producer-sha or $POWER_PRODUCER_SHA; a backfill also reads the package's power-producer-sha.txt")
REASON(
    producer_commit_mismatch, nodes, "the package comes from another recorder",
    "the recorder was updated since the commit was noted, or the package is another job's",
    "the package does not come from the recorder that --expected-producer-sha or $POWER_PRODUCER_SHA names: record with that one, or name this one to trust it")
REASON(
    package_recompute_invalid, nodes,
    "the package does not hold what its format promises; `failures` in the audit record lists everything",
    "samples that were lost, GPUs that fell off, clocks that were not in step, or files that were changed after recording",
    "'failures' in the record lists what is wrong with the package; if that affects only other windows, or rows more than 3 s from this one, --salvage lets this one count; if only samples are missing, it bounds the energy")
REASON(
    producer_verdict_mismatch, nodes,
    "the recorder's own verdict differs from ours: the package was changed, or the recorder's rules were",
    "files of the package were edited or mixed with those of another one, or the recorder has newer rules",
    "the recorder's own verdict on its package differs from ours: see 'failures' in the record, and check whether the package was changed since")
REASON(
    topology_env_mismatch, nodes,
    "the roles and their GPU counts are not those asked for, or roles share a het group; correct `--prefill-gpus`, `--decode-gpus`, `--aggregate-gpus` or `--role`; in a backfill, correct the run's name, or else its aggregate",
    "the counts of another configuration, or workers that did not start",
    "the GPUs asked for in each role (by options; in a backfill by the run's name, or else by its aggregate) must be those recorded, and each role must have a het group of its own")
REASON(
    window_for_result_missing, nodes,
    "there is not exactly one completed window with the result's `max_concurrency`; see `windows/` of the package",
    "the load was not announced to the recorder, was stopped early, or ran twice with one concurrency",
    "exactly one completed window of the package must have the result's max_concurrency")
REASON(
    measurement_window_result_missing, nodes,
    "the original result that the window names is missing",
    "the results were not copied with the package, or --logs-root or $POWER_RESULT_ROOT names another folder",
    "keep the original result where the window file's result_path says, below --logs-root")
REASON(result_content_mismatch, nodes,
       "the processed result is not a copy of the original; give the result of this window",
       "the result of another load, or one that was edited after the run",
       "the processed result must be a copy of the original that the window names")
REASON(measurement_window_result_mismatch, nodes,
       "the result's start or end is not the window's; give the result of this window",
       "the result of another load, or times that were rounded or converted",
       "the result's start and end must be those of its window file")
REASON(non_finite_power_metric, nodes, "a metric is too large for a number",
       "a sensor that reports nonsense", "a reading is absurdly large: check samples.csv")

// Our own, for any run.
REASON(
    implausible_power, run,
    "a GPU cannot have drawn what its readings say: a reading or the mean is above 3 kW, a reading is above twice the power limit in its own row, the mean is above 1.3 times that limit (or, without one, 1.5 times what the maker states of the board that the rows name), or it is below 5 W although the GPU's utilization or name shows that it worked. Or all readings have one digit; or two columns of one power, such as `power.draw` and `power.draw.average`, differ by more than 16 % and than their readings explain. The message names the likely unit. Sensors of modules are judged at 4 kW, those of nodes at a mean of 10 kW",
    "bare numbers in milliwatts or kilowatts, the energy counter instead of power, or a sensor or recorder at fault",
    "no GPU draws that: state the unit of bare numbers in the power column with --power-unit, unless only a few readings are wrong: then measure again, or a window without them; the samples of a package must be in watts")
REASON(
    selected_gpu_missing, run,
    "a GPU that `--gpus` names is not in the recording, may be any of several there, or has no power reading in or near the window; the message lists those that are there",
    "ids of another column or another machine, or a GPU that was not recorded",
    "name the GPUs of --gpus as the recording does: 'aggregate-power inspect FILE' lists them; --device-column chooses the column that names them")
REASON(
    benchmark_failed, run,
    "more than 5 % of the benchmark's requests failed, or its `benchmark_outcome` does not follow from the counts beside it; the message has the counts. The energy is that of another load than the one that was asked for, so it is not published, whatever the telemetry is like",
    "a server that refused or dropped requests, a load generator that was stopped, or counts that were edited",
    "look at the server's and the load generator's logs and run the benchmark again; 'aggregate-power measure' shows the energy of a recording nevertheless")
REASON(
    power_only_on_change, run,
    "the recorder writes the power only when it changes, so it is that of the last row until the next one; schema 1 takes the mean of the rows, which would be wrong on such a recording",
    "a change-only timeline, such as Zeus exports, under schema 1",
    "use --schema-version 2, or record at a fixed interval, for example with aggregate-power-monitor")

// Why a recording is not believed: who was measured, how fresh the readings are, and whether they
// can be. contract.md part 0, rows 27 to 31.
REASON(
    gpu_identity_conflict, run,
    "the columns or labels that identify a GPU contradict each other: one UUID is under two indices, in two files or under two names, one GPU is there in two spellings (`0` and `GPU 0`), rows without a UUID have the index of two GPUs, rows of one GPU alternate between the words of a column whose name says nothing, or nothing tells whether two recordings of two kinds, such as one with indices and one with UUIDs, have a GPU in common; the message has the names",
    "several hosts, containers or recorders that write into one file, or a GPU that was replaced",
    "record each host into a file of its own, or a column that tells the hosts apart; give each recording once")
REASON(
    several_gpus_in_one_series, run,
    "one device has two different readings at one time, or its rows arrive as those of several GPUs do: in groups, with the power of some number of rows before, or twice through the same time. Or the only device is a mean or several GPUs by its name (`mean`, `0,1,2,3`, `3.5`). Their mean is nobody's power",
    "several containers that each call their GPU 0, several hosts that append to one file, or a recorder of processes",
    "record a column that tells the GPUs apart (uuid, hostname), and each host or container into a file of its own; if each row is of the GPU that it names and the load repeats itself, --accept several_gpus_in_one_series publishes the run")
REASON(
    same_sensor, run,
    "two devices have equal readings at every common time although the readings vary (at least 20 times and 5 values): they are one sensor, and its energy would count twice. In coarse steps this is a warning. Devices that are read at different moments are one GPU if each agrees with another between its times, too, at low and high power. Or a device is the sum or the mean of the others, by its readings or its name (`total`, `average`). The message has the `--gpus` that keeps one of each",
    "a row for the total of all GPUs, partitions of one GPU, MIG instances or virtual GPUs, dies that repeat their board's power, or a recording and its copy",
    "keep one device of each sensor with --gpus, and give each recording once")
REASON(
    idle_gpus_counted, run,
    "GPUs that idled while others worked make up a third of the energy or more, and nothing states how many GPUs the run used. Or the load was not on the GPUs that count: they draw no more in the window than next to it, and either their utilization is 0 % (or their memory empty) throughout, or the power of other GPUs of the recording rises and falls with the window. The message has the `--gpus` that would count",
    "a node of eight GPUs of which the run used some, numbers of GPUs inside of a container, or the recording of another machine",
    "choose the GPUs of the run with --gpus, or state their number with --expected-num-gpus; if none of those recorded ran the load, record those that did")
REASON(
    readings_repeat, run,
    "a GPU's readings change only every few samples, or are on straight lines between such readings, so the time between two readings is longer than the gap that is accepted, whatever the stamps say; the message has the true interval. Where only a few readings show it, this is a warning. Or the readings are means over a long time, by the name of the metric or because the power rises slowly from the window's start and falls as slowly after its end, so that more than 2.5 % of the energy is read after the window; that is a warning from 1 % on, and where the readings have noise of their own, as those of a load that starts and drains slowly have",
    "a Prometheus query with a step finer than the scrape interval, avg_over_time or rate over minutes, a DCGM exporter that samples every 30 s, or a slow agent",
    "sample at the source: set the exporter's and the scrape interval to 1 s; a query with a finer step adds no readings, and one of avg_over_time none of the moment")
REASON(
    stuck_sensor, run,
    "a GPU repeats one reading while the other GPUs, its utilization, its clock or its temperature change by more than a fifth, or while it works: it was not measured. The message has the GPU, the reading and its share of the energy. Where it may also have rested or been at its limit, this is a warning",
    "a driver or a sensor that hangs, or an agent that repeats its last reading",
    "reset the GPU or its driver and run again; see the recorder's log")
REASON(
    counter_contradicts, run,
    "a GPU's energy counter in the recording differs from the energy of its power readings by more than 16 % in the window: one of them is wrong",
    "a power column in another unit, a power sensor that hangs or shows another part of the board, or a counter of a whole module",
    "find out which is right: compare both with another recorder; --power-unit states the unit of bare numbers")

// Why a window is not believed to be where its load was.
REASON(
    load_outside_window, run,
    "the window is idle, to a tenth of the step between idle and load, and the recording has a load of about its length elsewhere; or one host is idle in the window while the others work. The message has the offset, and whether it is a whole number of quarter hours (a zone) or not (a clock)",
    "a client or a host whose clock is wrong, a container in UTC beside a recorder in local time, or the recording of another run",
    "find out which clock or zone is wrong: --clock-offset adds seconds to the recording's times, --timezone states its zone; if the load was idle indeed, --accept load_outside_window publishes the run")
REASON(
    clock_offset_suspected, run,
    "power rises after the window's start and falls after its end by the same time, to 1 s, or both earlier: by at least 5 s and 5 % of the window. The message has the offset",
    "a client or a host whose clock is wrong: a laptop, a virtual machine, or a node without NTP",
    "find out which clock is wrong; --clock-offset adds seconds to the recording's times; if none is, --accept clock_offset_suspected publishes the run")

// When the readings were taken. contract.md part 0, row 33.
REASON(
    timezone_contradicts_clocks, run,
    "the zone in which the timestamps were read puts the recording at another time than the clocks that its recorder noted (`clock_pairs`)",
    "a fixed offset that was kept across a change of the clock, a `--timezone` of another machine, or the context file of another recording",
    "leave --timezone out, or give the zone's name (Area/City) if the clock changed during the recording; correct timestamp_timezone in STEM_context.json")
REASON(
    clock_set_back, run,
    "timestamps go back by more than 3 s in the order of the rows, so that rows of two times share the stamps of the window; the message has the times. It only warns where they go back by less, or where the recorder's clock_pairs say that the clock was set, forward or back",
    "a clock that was set right after the recorder's start, the hour that a local clock shows twice in autumn, or two recorders in two zones in one file",
    "for a repeated local hour give the zone's name (--timezone Area/City); else split the recording where its time goes back, and give the part of the run")

// For recordings of several hosts.
REASON(gpu_uuid_repeated, nodes, "two hosts or two ids have the same UUID",
       "the same recording under two hosts' names, or hosts that share one GPU",
       "one GPU was recorded as two: leave out one of the files, or fix its identity file")
REASON(
    gpu_identity_unreadable, nodes,
    "an identity file has no `index` and `uuid` columns, or lacks a GPU of its recording; fix or remove it",
    "a file that was cut off, or another tool's output under its name",
    "an identity file needs the columns index and uuid, one row for each GPU of its recording")

// For native packages of several nodes; contract-october.md 3.2.
REASON(native_mixed_aggregate_role_topology, nodes,
       "aggregate GPUs and prefill or decode GPUs were asked for together",
       "a script that passes all three counts, one of them left over from another configuration",
       "give --aggregate-gpus, or --prefill-gpus and --decode-gpus, but not both")
REASON(
    native_manifests_missing, nodes, "no `node-*/manifest.json` in the package",
    "the collectors did not run, or their folders were not copied back",
    "each node leaves a folder node-RANK with its manifest.json in LOGS/native_power: copy them all back")
REASON(
    native_node_invalid, nodes,
    "a node's files are missing, or are not what the collector writes; `node_errors` in the audit record says which node, and what",
    "a copy that was cut off, a collector that was killed, or a folder under another node's name",
    "a node cannot be used: see 'node_errors' in the record, and copy that node's folder again")
REASON(
    native_collector_incomplete, nodes,
    "a node's collector did not end as it should: its `lifecycle` is not `complete`, or its `collector_exit_code` is not 0",
    "the collector crashed, or the job ended before it was stopped",
    "a node's collector broke off: see its log, and record the run again")
REASON(
    native_clock_not_synchronized, nodes,
    "a node's clock was not synchronized by NTP, so that its times cannot be compared with those of the others",
    "a node without a time service, or one that had only just started",
    "record on nodes whose clocks are synchronized ('timedatectl' says whether they are)")
REASON(
    native_collection_window_mismatch, nodes,
    "a node's collector was started after the benchmark's start or stopped before its end, or its manifest does not say when",
    "collectors that were started with the load, or the benchmark result of another run",
    "start the collectors before the load and stop them after it, and check that the result is this run's")
REASON(native_device_identity_changed, nodes,
       "a GPU's UUID at the end is not the one from the start",
       "a GPU that was reset or replaced during the run, or identity files of two runs",
       "a GPU was another one at the end: record the run again")
REASON(native_duplicate_physical_gpu, nodes,
       "one GPU was recorded twice, by two nodes or under two names",
       "two collectors on one machine, or one node's folder copied under two names",
       "each GPU must be recorded once: check which node each folder came from")
REASON(
    native_unknown_device_index, nodes,
    "a row of `gpu_metrics.csv` names a GPU that the node's identity file does not have, or none",
    "identity and recording of different moments or tools, or a row that was torn apart",
    "every GPU of gpu_metrics.csv must be in the node's identity file: record both with the same tool")
REASON(
    native_node_topology_mismatch, nodes,
    "the nodes are not all those of the run: their number is not `expected_num_nodes`, their ranks do not count from 0, or two have one name",
    "a node's folder that was not copied back, or folders of two runs",
    "the package must have all nodes of the run, and no others: copy back what is missing")
REASON(
    native_run_identity_mismatch, nodes,
    "the nodes do not state one `job_id` and one `collector_revision`",
    "folders of two jobs in one package, or nodes with different versions of the collector",
    "all nodes must be of one job and one version of the collector: remove what is left of other jobs")
REASON(
    native_role_gpu_count_mismatch, nodes,
    "the nodes recorded more or fewer GPUs of a role than were asked for",
    "the counts of another configuration, or a node that selected other GPUs",
    "correct --prefill-gpus, --decode-gpus or --aggregate-gpus (in a backfill the run's name, or else its aggregate), or record the GPUs that the run used")

// For CPU power, which is judged separately; contract.md F.4.
REASON(cpu_artifacts_missing, cpu, "CPU power was asked for, and the package has no `cpu` folder",
       "the recorder does not record CPU power, or the folder was not copied",
       "the package has no cpu folder: record CPU power, or do not ask for it")
REASON(cpu_manifest_invalid, cpu, "`cpu_manifest.json` is missing or is not a JSON object",
       "a copy that was cut off",
       "cpu/cpu_manifest.json must be a JSON object: copy the folder again")
REASON(cpu_samples_missing, cpu, "`cpu/samples.csv` is missing",
       "no sensor was found, or the recorder was killed before it wrote",
       "the recorder wrote no cpu/samples.csv: see its log")
REASON(cpu_samples_header_mismatch, cpu,
       "the header is not that of either version; see the recorder's log",
       "a newer recorder, or another program's file",
       "the header of cpu/samples.csv is not one that the recorder writes")
REASON(cpu_samples_malformed, cpu,
       "a row cannot be read, or a sensor has the same timestamp twice; see the recorder's log",
       "a recorder that was killed while it wrote, or two that wrote to one file",
       "a row of cpu/samples.csv cannot be read, or a sensor has the same timestamp twice")
REASON(
    cpu_window_unavailable, cpu, "the GPUs' window is not known; see `reasons` in the audit record",
    "the benchmark result or its window cannot be used",
    "the GPUs' window, over which CPU power is integrated, is not known: see 'reasons' in the record")
REASON(cpu_socket_count_mismatch, cpu,
       "a host does not have exactly two sockets, or is not part of the run",
       "a machine with one socket, a sensor that did not answer, or samples of another host",
       "every host must have its two sockets recorded, and no other host")
REASON(
    cpu_sensor_kind_mixed, cpu,
    "the sockets share no kind of sensor, or the kind has several sources; record all hosts of the run",
    "hosts of different types, or a driver that is missing on some of them",
    "all sockets must have the same kind of sensor, from the same source")
REASON(cpu_sensor_source_mismatch, cpu,
       "the sensor's source is not the one asked for; correct `--expected-cpu-source`",
       "hosts on which that driver is not loaded",
       "the sensor's source is not the one that --expected-cpu-source names")
REASON(cpu_window_not_bracketed, cpu,
       "a socket's samples begin too late or end too early; start the recorder before the load",
       "the recorder was started late or stopped early",
       "the samples of each CPU must begin before the window and end after it")
REASON(cpu_sample_gap_exceeded, cpu,
       "the gap between two samples of a socket is longer than 3 s; see the recorder's log",
       "a recorder that was starved of CPU time, or a sensor that hung",
       "the samples of a CPU were more than 3 s apart")

// For agentic runs; contract.md D.
REASON(
    profile_artifacts_missing, agents, "an AIPerf export is missing",
    "AIPerf failed or was stopped, or its folder was not copied",
    "aiperf_artifacts must contain AIPerf's profile_export_aiperf.json and profile_export.jsonl: copy both, or give agentic their folder with --artifact-dir")
REASON(profile_artifacts_invalid, agents,
       "an AIPerf export cannot be read; check that AIPerf finished",
       "AIPerf was stopped while it wrote, or the copy was cut off",
       "the AIPerf files cannot be read: check that AIPerf finished writing them")
REASON(profile_artifacts_ambiguous, agents, "several folders have AIPerf's exports",
       "the folder of several runs, or a run that was repeated",
       "several folders have AIPerf's exports: give the run's with --artifact-dir")
REASON(profile_window_missing, agents,
       "the profile has no `start_time` or no `end_time`; check that AIPerf finished",
       "AIPerf was stopped, or is a version that does not write them",
       "profile_export_aiperf.json needs start_time and end_time")
REASON(
    profile_timezone_offset_missing, agents,
    "the profile's times have no zone, its requests do not show it, and no file states it",
    "AIPerf writes local times without their zone, and the run did not note it",
    "the profile's times have no zone: write the output of 'date +%z' to agentic_power_timezone_offset.txt when the run starts, or give the zone to agentic with --profile-timezone")
REASON(
    profile_timezone_offset_invalid, agents,
    "`agentic_power_timezone_offset.txt` does not hold an offset, or it or `--profile-timezone` contradicts the times of the profile's requests",
    "the command that writes the file failed or wrote a name instead of an offset, or AIPerf ran in another zone than the recorder",
    "agentic_power_timezone_offset.txt must contain one offset such as +0200, the one of AIPerf's clock; if it is only the recorder's, give the profile's zone to agentic with --profile-timezone")
REASON(
    profile_window_invalid, agents,
    "the times cannot be read, the end is not after the start, or the requests are not between them under any offset; see the profile",
    "AIPerf was stopped, or a clock was set during the run",
    "start_time and end_time must be times, and the end must be after the start; if the clock changed between them, give the profile's zone to agentic with --profile-timezone Area/City")
REASON(successful_request_count_invalid, agents, "no request succeeded; see the profile's errors",
       "the server was not ready, or refused all requests",
       "no request of the profile succeeded: see its errors")
REASON(incomplete_token_accounting, agents,
       "a successful request lacks a length, or all lengths are 0; let AIPerf count tokens",
       "AIPerf had no tokenizer, or a response without text",
       "every successful request needs its input and output length")
REASON(
    power_window_unwritable, agents,
    "`agentic_power_window.json` cannot be written; the message says why",
    "another user owns the folder, a full disk, or a read-only mount",
    "agentic_power_window.json is written to the result folder: check the folder's permissions and free space")

// For agentic runs on several nodes; all but agentic_concurrency_mismatch come from a later
// version of the original.
REASON(
    agentic_aggregate_invalid, agent_nodes,
    "the aggregate cannot be read, or is not a JSON object, so nothing is known about its GPUs either; write it before calling this tool",
    "the summary is only written later, or was cut off",
    "the aggregate of an agentic run on several nodes must be one JSON object: it says how many GPUs the run used")
REASON(
    agentic_gpu_topology_invalid, agent_nodes,
    "the aggregate does not have `disagg`, true or false, with `num_prefill_gpu` and `num_decode_gpu`, whole numbers that are not both 0; or, with `--expected-num-gpus N`, not `is_multinode` false, `disagg` false and `num_gpus` N; fix what writes it",
    "a summary by an older script, or of a run on one node",
    "the aggregate needs 'num_prefill_gpu' and 'num_decode_gpu', whole numbers that are not both 0, and 'disagg', true or false; for a run on one node, 'is_multinode' and 'disagg' false, and 'num_gpus' as in --expected-num-gpus")
REASON(
    formal_benchmark_result_missing, agent_nodes,
    "the result folder does not have exactly one `agentic_power_concurrency_N.json`; in a store also: it belongs to another load. Give the folder of one load",
    "the load did not finish, or the folder is that of several loads",
    "the result folder must contain exactly one agentic_power_concurrency_N.json, that of this load")
REASON(
    agentic_concurrency_mismatch, agent_nodes,
    "the N of `agentic_power_concurrency_N.json`, its `max_concurrency`, the aggregate's `conc` and the package's window do not all belong to one load",
    "the files of several loads were mixed",
    "the N of agentic_power_concurrency_N.json, its max_concurrency, the aggregate's 'conc' and the package's window must all belong to one load: give the files of one load")
REASON(
    agentic_result_outside_logs_root, agent_nodes,
    "the result folder, after following links, is not the logs root or inside it (in a store: `LOGS`); correct `--result-dir` or `--logs-root`. If a link leads out of the store, replace it with the results themselves",
    "a link to another disk, or the logs root of another job",
    "the result folder must be the logs root or inside it (--logs-root; in a store LOGS), also after links are followed")
REASON(
    expected_producer_sha_invalid, agent_nodes,
    "the recorder's commit is not 40 digits and letters a to f",
    "a short commit, a branch's name, or a shell variable that was never set",
    "give the recorder's whole commit, 40 digits and letters a to f, in --expected-producer-sha, $POWER_PRODUCER_SHA or the package's power-producer-sha.txt")
REASON(
    multinode_power_contract_missing, agent_nodes,
    "the run's recorder offered no place for measurement windows, so there is no package to read (`--multinode-contract-missing`)",
    "a job whose launcher does not export SRT_MEASUREMENT_WINDOW_DIR",
    "run the job with a launcher that exports SRT_MEASUREMENT_WINDOW_DIR, then give the package with --power-dir")

// Our own, shown by `inspect` after those above.
REASON(
    no_header, header, "the first line is data",
    "the recorder was told to leave the header out, as with nvidia-smi's noheader, or the file's beginning was cut off",
    "record with a header line, or name the columns with --columns: without names the meaning of the columns is unknown")
REASON(relative_time, header, "times count from the start of the run",
       "a recorder that writes seconds since its start",
       "record absolute times: seconds from a run's start cannot be placed in a window")
REASON(time_without_date, header, "the file has times of day, without a date",
       "a recorder that is asked for the time of day only",
       "record the date too: a time of day cannot be placed in a window")
REASON(only_power_limits, header, "the only power columns are limits",
       "the recorder was asked for power.limit instead of power.draw",
       "record the draw, not the limit, such as 'power.draw'")
REASON(run_summary, header, "the file has one row per run instead of samples",
       "the wrong file of a run's folder",
       "this is a summary of runs, not a series of samples: use the recorder's raw log")
REASON(
    ambiguous_power_column, header, "several power columns have equal rank",
    "a recorder that writes instantaneous and average power side by side, under names that are not known",
    "several columns are power draws of equal rank: choose one with --power-column")
REASON(
    wide_power_columns, header, "the file has one column per GPU",
    "a table that was pivoted for plotting, or a recorder that writes one row per tick",
    "the names of these columns do not say which GPU's power they are: name each as in gpu0_power_w, with its unit; give --power-unit for bare names such as GPU0; or choose one column with --power-column (under schema 1 or with --expected-num-gpus 1 only, because the GPUs cannot be distinguished then)")
REASON(
    model_name_as_device, header, "the device column holds model names",
    "the recorder was asked for the name of the GPU, not for its index",
    "the device column holds model names: record an index or UUID, or choose another column with --device-column")
REASON(named_column_missing, header, "the header has no column with the given name",
       "a mistyped name, or the file of another recorder", "name a column that the header has")
REASON(
    columns_do_not_fit, header,
    "`--columns` was given, and the file has a header of its own, or its first row is not one of such columns",
    "the recorder writes a header since it was updated, or the names are those of another query",
    "leave out --columns for a file with a header; for another one give exactly one name for each column, empty for one that is not needed")
REASON(
    validation_result_unwritable, run,
    "the audit record cannot be written, or would overwrite an input, or is a link that leads out of its store. The aggregate then does not claim to be valid, and this code appears in the message only. Check the folder, or give another `--validation-result`; a full disk, a read-only file system and missing permissions are reported as above",
    "a folder that does not exist or belongs to another user, a full disk, or a path that was given twice",
    "the audit record was not written: the run's message says why")
REASON(
    aggregate_result_locked, run,
    "another process kept its lock (`flock`) on the aggregate for longer than `--lock-timeout`; the message names the process if it runs on this machine. Nothing was written, and this code appears in the message and in the report of a backfill only",
    "another run that hangs or was stopped while it wrote, or any program that locks a file which it may read",
    "end the process that holds the lock, or wait longer for it with --lock-timeout SECONDS, then run again")

// For runs in a store.
REASON(benchmark_result_missing, store, "the store has no raw result with the run's name",
       "only the summaries were archived, or the result has another name than its aggregate",
       "keep the raw benchmark result NAME.json beside agg_NAME.json, or anywhere in the store")
REASON(
    pairing_ambiguous, store,
    "several files could belong to the run, and not exactly one pair of them fits; or there are two packages that differ",
    "the artifacts of several attempts were unpacked into one folder",
    "several files could belong to the run: move those that do not out of the store")
REASON(
    timezone_ambiguous, store,
    "nothing states the zone of the timestamps, and no two witnesses agree on one; or, in a single run, the power or the time of the file contradicts the process's own zone",
    "nvidia-smi writes local time without its zone, and the recording is too short or too flat to show when the load ran",
    "the time zone of the timestamps is found only if two signs agree: the rise and fall of the power, the time when the file was last written, the recorder's other runs (in a backfill); give it with --timezone, or in STEM_context.json beside STEM.csv; --timezone evidence accepts one sign")
REASON(aggregate_in_archive, store, "the aggregate is in an archive",
       "the store is a .zip or .tar that was not unpacked",
       "files in archives are not replaced: give --output FOLDER")
REASON(
    replacement_unsafe, store,
    "the aggregate is on a mount without locks or atomic renames; `aggregate-power help backfill` lists them",
    "a store on a network or FUSE mount, such as object storage",
    "files on a mount without locks or atomic renames are not replaced: give --output FOLDER on a local disk")
REASON(
    archive_unreadable, store,
    "an archive is cut off, damaged, too large or not to be trusted, or there is no room to unpack it. It can also be unpacked by hand",
    "a download that was cut off, a full $TMPDIR, or an archive made by a program with other rules",
    "check its permissions and the free space in $TMPDIR; if it is cut off or damaged, fetch it again")
REASON(folder_unreadable, store, "a folder cannot be listed",
       "another user owns the folder, or a mount that went away", "check the folder's permissions")
REASON(input_unreadable, store, "a file cannot be read or expanded",
       "another user owns the file, a damaged disk, or a compressed file that was cut off",
       "check the file's permissions and the disk, then run again")
REASON(
    input_changed, store,
    "a file changed while it was being used; for a single run: the aggregate changed again and again",
    "a run that has not ended, or another program that updates the same files",
    "run again when nothing else writes to the run's files")
REASON(
    run_not_found, store, "a line of `--runs` does not lead to a run; correct the path or the name",
    "a mistyped line, a path from another working folder, or a run that was moved",
    "a line of --runs must be the path of an aggregate below one of the stores, or the name of a run in them")
REASON(
    retracted, store,
    "the numbers of the run were withdrawn by `retract`; `retracted` in the audit record says where, and what they were",
    "a fault of a recorder, or of a version of this program, that was found later",
    "nothing, unless the cause is gone: 'backfill --republish' computes such runs again")

// For results that do not state their window exactly.
REASON(
    window_not_exact, run,
    "the result does not state when its load began and ended, only something from which that can be estimated, or a longer time",
    "a load generator that writes a stamp to the second, the times of a monotonic clock, or when its whole session began and ended",
    "record the run with 'aggregate-power-monitor run', give --start and --end, or accept with --window what the message names")
REASON(
    benchmark_not_selected, run,
    "the result holds several benchmarks and `--select` does not choose one of them; the message lists them",
    "a sweep, or a file to which each run is appended",
    "choose one benchmark of the result with --select")
