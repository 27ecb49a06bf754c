/**
 * Returns a function that resolves with the value of `work`, for example an open connection. Its
 * first call begins `work`, and later calls get the same value. Concurrent calls share one attempt.
 * After a failure, the next call begins a new attempt.
 */
export function retryableOnce<T>(work: () => Promise<T>): () => Promise<T> {
  let attempt: Promise<T> | undefined;
  return () => {
    if (attempt) return attempt;
    attempt = work();
    attempt.catch(() => {
      attempt = undefined;
    });
    return attempt;
  };
}
