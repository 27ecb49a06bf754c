/**
 * Returns a stream that reads `source` only when its own reader asks. `cancel` is called if the
 * reader cancels the stream, and not `source.return()`, which would wait for a pending read.
 */
export function onDemand<T extends object>(
  source: AsyncIterator<T, undefined>,
  cancel: () => Promise<void>,
): ReadableStream<T> {
  return new ReadableStream<T>(
    {
      async pull(controller) {
        const { value } = await source.next();
        if (value) controller.enqueue(value);
        else controller.close();
      },
      cancel,
    },
    { highWaterMark: 0 },
  );
}
