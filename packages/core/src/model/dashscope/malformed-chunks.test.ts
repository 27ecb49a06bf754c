import { testMalformedChunks } from '@test/support/malformed-chunks.ts';
import { DashScopeDecoder } from './dashscope-decoder.ts';

const output = (message: string): string =>
  `{"output":{"choices":[{"message":${message},"finish_reason":"null"}]}}`;

testMalformedChunks({
  decoder: () => new DashScopeDecoder(),
  before: output('{"content":"Hi"}'),
  chunks: [
    '{"output":{"choices":[{"mess',
    '{"output":{"choices":{"message":{}}}}',
    output('{"content":5}'),
    output('{"content":[null]}'),
    output('{"content":[{"text":["a"]}]}'),
    output('{"reasoning_content":["a"]}'),
    output('{"tool_calls":{}}'),
  ],
});
