// What each part of the kernel's bundle costs: builds `Agent` with `tool` and `openai`, and again
// with the functions of one part empty. Run `npm run build` before. Prints the difference in bytes
// (gzip). Text that two parts share counts for neither, so the sum is less than the bundle.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { gzipSync } from 'node:zlib';

// Vite's bundler is the one with which `npm run size` measures.
const { resolve } = createRequire(createRequire(import.meta.url).resolve('vite'));
const { rolldown } = await import(resolve('rolldown'));
const { parseAst } = await import(resolve('rolldown/parseAst'));

const dist = new URL('../packages/core/dist/', import.meta.url).pathname;
const entry = `
  import { Agent } from '${dist}agent/index.js';
  import { tool } from '${dist}index.js';
  import { openai } from '${dist}model/openai/index.js';
  console.log(Agent, tool, openai);`;

/** Files of each part. A list names the functions; `true` means all of them. */
const parts = {
  'openai(), over HTTP': { 'model/openai/openai.js': true },
  '- messages and tools in OpenAI’s format': {
    'model/openai/openai-formatter.js': true,
  },
  '- images, files and audio in messages': {
    'model/openai/openai-formatter.js': ['toWireMedia', 'audioFormat'],
    'message/media/media.js': ['inlineSource', 'mediaPlaceholder', 'toUrl'],
  },
  '- chunks of all servers': {
    'model/openai/openai-decoder.js': true,
    'model/openai/openai-tool-calls.js': true,
  },
  '- server-sent events': { 'model/http/sse-parser.js': true, 'model/http/event-reply.js': true },
  '- errors of servers': { 'model/http/provider-error.js': true },
  '- advice about the base URL': { 'model/http/base-url.js': true },
  '- no keys in errors': { 'model/http/without-secrets.js': true },
  'checks of options': {
    'error/options/check-fields.js': true,
    'error/options/check-options.js': true,
    'error/options/kinds.js': true,
    'agent/check-agent-options.js': [
      'checkMiddleware',
      'checkDefaults',
      'kernelOptions',
      'middlewareFields',
    ],
    'event/check-hook.js': true,
    'tool/tool.js': ['toolOptions', 'checkTool'],
    'model/http/http-model.js': ['httpModelOptions'],
    'model/chat-model.js': ['generateOptions'],
  },
  'checks of the input': { 'event/agent-input.js': true },
  'checks of decisions': { 'event/pending-call.js': ['checkDecision'] },
  'checks of what hooks return': { 'event/check-event.js': true },
  'hooks and their controls': {
    'event/hook-dispatcher.js': ['#pass', '#handle', 'handlersOf', 'handlers'],
    'message/freeze.js': true,
    'event/hook-controls.js': true,
  },
  'jumps of hooks': { 'agent/step/jump.js': true },
  'interrupts and joined calls': {
    'event/interrupt-request.js': true,
    'agent/run/inbox.js': true,
  },
  'errors with codes': { 'error/agent-error.js': ['errorText', 'missingMiddleware'] },
  'assembly of replies': { 'model/reply/reply-assembler.js': true },
  'limits of replies and time': {
    'model/reply/reply-length.js': true,
    'model/reply/bounded-model.js': true,
    'wait/deadline.js': true,
    'wait/call-timeout.js': true,
    'wait/timer-yield.js': true,
  },
  'waits that end at an abort': {
    'wait/bounded/bounded-waits.js': true,
    'wait/bounded/open-wait.js': true,
    'wait/bounded/nested-steps.js': true,
    'wait/halt.js': true,
  },
  'JSON form of values, results of tools': {
    'message/json.js': ['jsonForm', 'jsonLike'],
    'tool/tool-call.js': ['outputResult', 'wrappedResult', 'inJsonForm', 'isToolContent'],
  },
  'shapes of messages': { 'message/is-message.js': true },
  'schemas and arguments of tools': {
    'schema/schema.js': true,
    'tool/tool-call.js': ['prepareCall', 'dropNull'],
  },
  'preset arguments': { 'tool/tool.js': ['presetInput'] },
  'lists and views of tools': { 'tool/set/tool-set.js': true },
  'parallel tools': { 'tool/tool-queue.js': true },
  'shortened results': { 'message/conversation/shorten-results.js': true },
  'conversation, memory, order of results': {
    'message/conversation/conversation.js': true,
    'message/conversation/tool-pairs.js': true,
    'memory/in-memory-memory.js': true,
    'memory/memory.js': true,
  },
  'rules of a resume': { 'memory/log/resumption.js': true, 'memory/log/call-notes.js': true },
  'late readers': { 'event/readers/event-log.js': true },
  'middleware: list, wrappers, run': {
    'agent/use-list.js': true,
    'agent/run/wrappers.js': ['callWrapper', 'checkOutcome'],
    'agent/seam/run-object.js': true,
  },
};

const whole = await sizeWith({});
console.log(`${String(whole).padStart(6)}  Agent, tool, openai`);
for (const [name, files] of Object.entries(parts))
  console.log(`${String(whole - (await sizeWith(files))).padStart(6)}  ${name}`);

/** Makes these functions do nothing. Returns the size of the bundle. */
async function sizeWith(files) {
  const left = new Set(Object.keys(files));
  const bundle = await rolldown({
    input: 'entry',
    onLog() {},
    plugins: [
      {
        name: 'parts',
        resolveId: (id) => (id === 'entry' ? id : undefined),
        load(id) {
          if (id === 'entry') return entry;
          const functions = files[id.replace(dist, '')];
          left.delete(id.replace(dist, ''));
          return functions && emptied(id, functions);
        },
      },
    ],
  });
  const { output } = await bundle.generate({ minify: true, comments: { annotation: false } });
  await bundle.close();
  if (left.size) throw new Error(`Not in the bundle: ${[...left].join(', ')}`);
  return gzipSync(output[0].code, { level: 9 }).length;
}

/**
 * Returns the module with empty functions. `functions`: their names, or `true` for all. Throws if
 * the module lacks one of them.
 */
function emptied(path, functions) {
  const code = readFileSync(path, 'utf8');
  const missingNames = new Set(functions === true ? [] : functions);
  const isMeant = (name) => functions === true || missingNames.delete(name);
  const cuts = parseAst(code).body.flatMap((statement) => {
    const node = statement.declaration ?? statement;
    if (node.type === 'FunctionDeclaration')
      return isMeant(node.id.name) ? [[node.body, '{}']] : [];
    if (node.type === 'ClassDeclaration') return node.body.body.flatMap(cutsInClass(node, isMeant));
    if (node.type !== 'VariableDeclaration') return [];
    return node.declarations.flatMap(({ id, init }) =>
      init && isMeant(id.name)
        ? [[init, init.type.endsWith('FunctionExpression') ? '()=>{}' : "''"]]
        : [],
    );
  });
  if (missingNames.size) throw new Error(`Not in ${path}: ${[...missingNames].join(', ')}`);
  return cuts
    .toSorted(([one], [other]) => other.start - one.start)
    .reduce((text, [{ start, end }, put]) => text.slice(0, start) + put + text.slice(end), code);
}

function cutsInClass({ superClass }, isMeant) {
  return ({ type, key, kind, value }) => {
    const name = key?.type === 'PrivateIdentifier' ? `#${key.name}` : key?.name;
    const mustCallSuper = kind === 'constructor' && superClass;
    return type === 'MethodDefinition' && isMeant(name) && !mustCallSuper
      ? [[value.body, '{}']]
      : [];
  };
}
