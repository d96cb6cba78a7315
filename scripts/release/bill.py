#!/usr/bin/env python3
"""Writes the bill of materials of a static program, as SPDX 2.3, and the licences of all that is in it.

What is in it is read from the linker's map and from the compiler's list of headers; Debian's package database has
the versions. A package without a licence in the table below stops the build.

usage: scripts/release/bill.py BUILD OUT   (BUILD: a folder in which cmake and ninja made a static program)
"""
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
VERSION = re.search(r"VERSION (\d+\.\d+\.\d+)", (ROOT / "CMakeLists.txt").read_text())[1]
COMMON = pathlib.Path("/usr/share/common-licenses")

# By source package, the licence of the parts that are linked; LICENSES has each package's own text.
LICENCES = {
    "abseil": "Apache-2.0",
    "bzip2": "bzip2-1.0.6",
    "cli11": "BSD-3-Clause",
    "fmtlib": "MIT",
    "gcc-12": "GPL-3.0-or-later WITH GCC-exception-3.1",
    "glibc": "LGPL-2.1-or-later",
    "libarchive": "BSD-2-Clause AND BSD-3-Clause AND (CC0-1.0 OR Apache-2.0)",
    "libzstd": "BSD-3-Clause OR GPL-2.0-only",
    "linux": "GPL-2.0-only WITH Linux-syscall-note",
    "nettle": "LGPL-3.0-or-later OR GPL-2.0-or-later",
    "nlohmann-json3": "MIT",
    "re2": "BSD-3-Clause AND LicenseRef-Lucent",
    "xxhash": "BSD-2-Clause",
    "xz-utils": "LicenseRef-public-domain",
    "zlib": "Zlib",
}


def run(*words, stdin=None):
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True, input=stdin).stdout


def real(path):
    return str(pathlib.Path(path).resolve())


def loaded_files(build):
    """Every file that the linker was given, in its order; the project's own are relative to `build`."""
    return re.findall(r"^LOAD (\S+)$", (build / "aggregate-power.map").read_text(), re.M)


def linked_files(build):
    """The system's archives of which at least one member is in the program, and the start-up objects."""
    members = (build / "aggregate-power.map").read_text().split("\nDiscarded input sections", 1)[0]
    found = {real(path) for path in re.findall(r"^(/\S+\.a)\(", members, re.M)}
    return sorted(found | {real(path) for path in loaded_files(build) if path.startswith("/") and path.endswith(".o")})


def headers(build):
    """The system's headers that the program's own objects include."""
    found, ours = set(), False
    for line in run("ninja", "-C", str(build), "-t", "deps").splitlines():
        if not line.startswith(" "):
            ours = line.startswith("CMakeFiles/")
        elif ours and line.strip().startswith("/usr/"):
            found.add(real(line.strip()))
    return sorted(found)


def owners(paths):
    """{path: name of the Debian package that has it}"""
    found = {}
    asked = subprocess.run(["dpkg-query", "-S", *paths], capture_output=True, text=True)  # 1 if one has no owner
    for line in asked.stdout.splitlines():
        package, _, path = line.rpartition(": ")
        found[path] = package.split(":")[0]
    missing = set(paths) - set(found)
    if missing:
        sys.exit(f"bill.py: no Debian package has {min(missing)}: its licence is unknown")
    return found


def package_facts(name):
    form = "${source:Package}\t${source:Version}\t${Version}\t${Architecture}\t${Homepage}\t${Maintainer}\n"
    source, source_version, version, machine, home, maintainer = run(
        "dpkg-query", "-W", "-f", form, name).split("\n")[0].split("\t")
    if source not in LICENCES:
        sys.exit(f"bill.py: {name}: add the licence of its source package {source} to the table in bill.py")
    return {"source": f"{source}={source_version}", "version": version, "machine": machine, "home": home, "maintainer": maintainer,
            "licence": LICENCES[source]}


def spdx_id(kind, name):
    return f"SPDXRef-{kind}-" + re.sub(r"[^A-Za-z0-9.-]", "-", name.replace("+", "p"))


def package_entry(name, facts):
    purl = f"pkg:deb/debian/{name.replace('+', '%2B')}@{facts['version'].replace('+', '%2B')}?arch={facts['machine']}"
    return {"SPDXID": spdx_id("Package", name), "name": name, "versionInfo": facts["version"],
            "supplier": f"Organization: Debian ({facts['maintainer']})", "homepage": facts["home"] or "NOASSERTION",
            "downloadLocation": f"https://snapshot.debian.org/package/{facts['source'].replace('=', '/')}/", "filesAnalyzed": False,
            "sourceInfo": f"Debian's source {facts['source']}",
            "licenseConcluded": facts["licence"], "licenseDeclared": facts["licence"],
            "copyrightText": f"see LICENSES/{name}.txt",
            "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl}]}


def file_entry(path):
    content = pathlib.Path(path).read_bytes()
    return {"SPDXID": spdx_id("File", path), "fileName": f".{path}", "copyrightText": "NOASSERTION",
            "checksums": [{"algorithm": name.upper(), "checksumValue": hashlib.new(name, content).hexdigest()}
                          for name in ("sha1", "sha256")]}


def relation(one, kind, other, **more):
    return {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other} | more


def bill(build):
    """(SPDX document, the packages in it)"""
    linked = linked_files(build)
    owner = owners(linked + headers(build))
    packages = {name: package_facts(name) for name in sorted(set(owner.values()))}
    program = "SPDXRef-Package-aggregate-power"
    relations = [relation("SPDXRef-DOCUMENT", "DESCRIBES", program)]
    of_archives = {owner[path] for path in linked}
    for name in packages:
        if name in of_archives:
            relations.append(relation(program, "STATIC_LINK", spdx_id("Package", name)))
        else:
            relations.append(relation(program, "CONTAINS", spdx_id("Package", name), comment="code of its headers"))
    relations += [relation(spdx_id("Package", owner[path]), "CONTAINS", spdx_id("File", path)) for path in linked]
    ours = {"SPDXID": program, "name": "aggregate-power", "versionInfo": VERSION, "downloadLocation": "NOASSERTION",
            "filesAnalyzed": False, "licenseConcluded": "Apache-2.0", "licenseDeclared": "Apache-2.0",
            "copyrightText": "see LICENSE", "primaryPackagePurpose": "APPLICATION"}
    own_terms = [{"licenseId": licence, "extractedText": licence_text(name)} for name, facts in packages.items()
                 for licence in re.findall(r"LicenseRef-[A-Za-z-]+", facts["licence"])]
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", "0"))))
    document = {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
                "name": f"aggregate-power-{VERSION}",
                "creationInfo": {"created": at, "creators": ["Tool: scripts/release/bill.py"]},
                "packages": [ours, *(package_entry(*item) for item in packages.items())],
                "files": [file_entry(path) for path in linked], "relationships": relations,
                "hasExtractedLicensingInfos": own_terms}
    digest = hashlib.sha256(json.dumps(document).encode()).hexdigest()
    document["documentNamespace"] = f"https://spdx.org/spdxdocs/aggregate-power-{VERSION}-{digest}"
    return document, packages


def licence_text(package):
    return pathlib.Path("/usr/share/doc", package, "copyright").read_text(errors="replace")


def write_licences(folder, packages):
    """Each package's copyright file, and the licences that these name instead of quoting them."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in packages:
        text = licence_text(name)
        (folder / f"{name}.txt").write_text(text)
        for licence in re.findall(rf"{COMMON}/([A-Za-z0-9.-]*[A-Za-z0-9])", text):
            if (COMMON / licence).is_file():
                shutil.copyfile(COMMON / licence, folder / f"{(COMMON / licence).resolve().name}.txt")


def notice(packages):
    """Debian's `copyright` of a package."""
    lines = [f"  {name} {facts['version']}: {facts['licence']}; LICENSES/{name}.txt\n" for name, facts in packages.items()]
    return ("aggregate-power is under the Apache License, version 2.0: see LICENSE, and on Debian systems\n"
            f"{COMMON}/Apache-2.0. Its copyright is its authors'. Parts of these are linked into it:\n\n" + "".join(lines))


def main(build, out):
    if not (build / "aggregate-power.map").exists():
        sys.exit(f"bill.py: {build}: no aggregate-power.map: build there with ninja and -DAGGREGATE_POWER_STATIC=ON")
    document, packages = bill(build)
    write_licences(out / "LICENSES", packages)
    (out / "copyright").write_text(notice(packages))
    (out / "aggregate-power.spdx.json").write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
