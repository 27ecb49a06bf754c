// With the environment variable `BENCH_SMALLEST`, a benchmark runs once with its smallest workload.
// This only shows that it still works; its figures mean nothing.

/** Returns `full`, or `smallest` in such a run. */
export function workload(full, smallest) {
  return process.env.BENCH_SMALLEST ? smallest : full;
}
