import type { Plugin } from 'vite';
import { root } from '../../scripts/root.ts';

/** Where our models send their requests, and the statement that notes each one first. */
const places = [
  {
    file: '/packages/core/src/model/http/http-transport.ts',
    before: '  const { url, headers, body, fetch: fetchFunction = fetch } = request;\n',
    statement: '  noteRequest(request);\n',
  },
  {
    file: '/packages/core/src/model/ai-sdk/ai-sdk-model.ts',
    before: '    const started = await deadline.wait(async () => model.doStream(call as never));\n',
    statement: '    noteCall(call, provider);\n',
  },
];

/**
 * Makes our models pass each request to `note.ts` before they send it. The packages stay as they
 * are: the plugin changes their modules in tests alone, in every engine and in workers.
 */
export function sentRequestsPlugin(): Plugin {
  return {
    name: 'sent-requests',
    enforce: 'pre',
    transform(code, id) {
      const path = id.split('?')[0]!;
      const place = places.find(({ file }) => path.endsWith(file));
      if (!place) return undefined;
      const { before, statement } = place;
      if (!code.includes(before))
        throw new Error(`sent-requests: ${place.file} has no line "${before.trim()}".`);
      const names = /note\w+/.exec(statement)![0];
      // Without a line of its own, the import moves no line of the source.
      const source = `import { ${names} } from '${root}/test/sent-requests/note.ts';`;
      return { code: source + code.replace(before, statement.trimEnd() + before), map: null };
    },
  };
}
