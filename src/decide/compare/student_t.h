// Student's t distribution. Pure arithmetic.
#pragma once

namespace aggregate_power {

// The probability of a value of at most `t`. `degrees_of_freedom` is above 0, need not be whole,
// and may be infinite: then the distribution is the normal one.
double student_t_probability(double t, double degrees_of_freedom);

// The value that is not exceeded with `probability`, which is inside (0, 1).
double student_t_quantile(double probability, double degrees_of_freedom);

}  // namespace aggregate_power
