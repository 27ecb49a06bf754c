export { textStream } from './stream/text-stream.ts';
export type { TextSource, TextStream, TextStreamOptions } from './stream/text-stream.ts';
