import { posix } from 'node:path';
import { moduleImports, type ModuleImport } from './module-imports.ts';

/** The features of core. A feature does not import another one. */
const features: readonly string[] = [
  'approval',
  'steering',
  'limits',
  'answer',
  'output',
  'context',
  'resilience',
  'results',
  'selection',
  'prompt',
  'state',
  'observe',
  'open-telemetry',
  'several',
  'text-protocol',
];

/**
 * The folders of each package's `src`. A folder may import itself and the folders before it. A
 * package that is not in this list is so small that its folders have no order.
 */
export const layers: Readonly<Record<string, readonly string[]>> = {
  core: [
    'error',
    'message',
    'schema',
    'wait',
    'endpoint',
    'model',
    'tokens',
    'event',
    'tool',
    'memory',
    'agent',
    ...features,
    'react-agent',
    'stream',
    'host',
    'testing',
  ],
  'web-worker': ['wire', 'store', 'move', 'page', 'session', 'tabs', 'worker'],
  edge: [
    'queue',
    'settings',
    'http',
    'answer',
    'session',
    'durable',
    'store',
    'kv',
    'api',
    'workers-ai',
    'jwt',
    'llm',
    'routes',
    'operator',
    'move',
    'handler',
  ],
  'openai-api': ['wire', 'request', 'routes'],
  react: ['shared', 'reading', 'queue', 'source', 'conversation', 'hooks', 'object'],
  inspector: ['steps', 'source', 'replay', 'view'],
};

interface LayerException {
  /** Path of a folder or a file, relative to `packages`. */
  readonly from: string;
  /** Path of a folder or a file, relative to `packages`. */
  readonly to: string;
  /** Whether values may be imported, too. Default: only types. */
  readonly values?: true;
  readonly reason: string;
}

/**
 * What a folder may import from a later folder, a feature from another one, a provider from another
 * one.
 */
const exceptions: readonly LayerException[] = [
  {
    from: 'core/src/error',
    to: 'core/src/message/json.ts',
    reason: 'details of an error are JSON',
  },
  {
    from: 'core/src/agent/kernel-options.ts',
    to: 'core/src/react-agent/agent-options.ts',
    reason: 'presets set options of ReActAgent, and middleware reads them from `run.options`',
  },
  {
    from: 'core/src/model/responses',
    to: 'core/src/model/openai',
    values: true,
    reason: 'both are APIs of the same servers',
  },
  {
    from: 'core/src/model/dashscope',
    to: 'core/src/model/openai',
    values: true,
    reason: 'its messages are those of chat completions, in another envelope',
  },
  {
    from: 'core/src/several/agent-tool.ts',
    to: 'core/src/approval/approving-agent.ts',
    values: true,
    reason: 'the call of an agent may wait for an approval of its tools',
  },
  {
    from: 'core/src/limits/call-limit.ts',
    to: 'core/src/state/state-key.ts',
    values: true,
    reason: 'the calls of a session are counted in its state',
  },
  {
    from: 'core/src/output',
    to: 'core/src/answer',
    values: true,
    reason: 'a typed value is asked for at a limit in place of a summary',
  },
];

/** A file of the repository. Its `path` is relative to the root and uses `/`. */
export interface SourceFile {
  readonly path: string;
  readonly source: string;
}

/** The packages that each package may import. The keys are folders in `packages/`. */
const allowedPackages: Readonly<Record<string, readonly string[]>> = {
  core: [],
  guards: ['core'],
  presets: ['core', 'guards'],
  recall: ['core'],
  mcp: ['core'],
  'web-worker': ['core'],
  react: ['core'],
  inspector: ['core', 'web-worker'],
  edge: ['core'],
  'openai-api': ['core', 'edge'],
};

/** Entries for authors of adapters, and of APIs for other clients. */
const forAuthors: readonly string[] = [
  'packages/core/src/host/index.ts',
  'packages/edge/src/api/index.ts',
];

/** Entries that load an optional peer. A package that used them would need it, too. */
const needsPeer: readonly string[] = ['@isoloop/core/schema', '@isoloop/core/open-telemetry'];

/** Returns the imports that break the layer rule, as lines `path:line: why`. */
export function layerViolations(files: readonly SourceFile[]): readonly string[] {
  return files.flatMap(({ path, source }) =>
    moduleImports(path, source).flatMap((found) => {
      const reason = violation(path, found);
      return reason ? [`${path}:${found.line}: ${reason}`] : [];
    }),
  );
}

function violation(path: string, { specifier, typeOnly }: ModuleImport): string | undefined {
  const from = /^packages\/([^/]+)\/src\//.exec(path)?.[1];
  if (from === undefined) return undefined;
  const named = /^@isoloop\/([^/]+)/.exec(specifier)?.[1];
  if (named !== undefined)
    return isTest(path) ? undefined : namedViolation(from, named, { specifier, typeOnly });
  if (!specifier.startsWith('.')) return undefined;
  const target = posix.join(posix.dirname(path), specifier);
  if (!target.startsWith(`packages/${from}/src/`)) return outsideViolation(path, from, target);
  if (isTest(path) || isException(path, { target, typeOnly })) return undefined;
  return (
    folderViolation(from, path, { target, typeOnly }) ??
    indexViolation(path, { target, typeOnly }) ??
    kernelViolation(path, target) ??
    featureViolation(path, target) ??
    providerViolation(path, target)
  );
}

function outsideViolation(path: string, from: string, target: string): string | undefined {
  return isTest(path)
    ? undefined
    : `${from} must not import ${target}, which is outside its sources`;
}

function namedViolation(
  from: string,
  to: string,
  found: Pick<ModuleImport, 'specifier' | 'typeOnly'>,
): string | undefined {
  return packageViolation(from, to) ?? peerViolation(from, found);
}

function peerViolation(
  from: string,
  { specifier, typeOnly }: Pick<ModuleImport, 'specifier' | 'typeOnly'>,
): string | undefined {
  if (typeOnly || !needsPeer.includes(specifier)) return undefined;
  return `${from} must not import values of ${specifier}, which needs an optional peer`;
}

function packageViolation(from: string, to: string): string | undefined {
  if (from === to) return `${from} imports itself by name; use a relative path`;
  return allowedPackages[from]?.includes(to) ? undefined : `${from} must not import ${to}`;
}

interface Imported {
  readonly target: string;
  readonly typeOnly: boolean;
}

function folderViolation(
  packageName: string,
  path: string,
  { target, typeOnly }: Imported,
): string | undefined {
  const [from, to] = [folderOf(path), folderOf(target)];
  if (from === undefined) return undefined;
  const folders = layers[packageName];
  // The entry file of edge declares the types of its options, so type imports of it are allowed.
  if (to === undefined) {
    return (typeOnly && packageName === 'edge') || !folders
      ? undefined
      : `${from}/ must not import the entry file ${posix.basename(target)}`;
  }
  if (!folders) return undefined;
  const [own, other] = [folders.indexOf(from), folders.indexOf(to)];
  if (own < 0) return `${from}/ is not in the list of ${packageName}'s folders`;
  if (other < 0) return `${to}/ is not in the list of ${packageName}'s folders`;
  return other <= own
    ? undefined
    : `${from}/ must not import ${typeOnly ? 'types of ' : ''}${to}/, a later folder`;
}

/**
 * An `index.ts` is an entry: nothing imports it, and it exports only files of its folder. Entries
 * for authors of adapters and APIs also export what these need of other folders. An entry of an
 * adapter may repeat types that its functions take.
 */
function indexViolation(path: string, { target, typeOnly }: Imported): string | undefined {
  if (/^packages\/[^/]+\/src\/index\.ts$/.test(path)) return undefined;
  if (target.endsWith('/index.ts')) return `${posix.dirname(path)} must not import an entry`;
  if (posix.basename(path) !== 'index.ts' || forAuthors.includes(path)) return undefined;
  if (typeOnly && !path.startsWith('packages/core/')) return undefined;
  return target.startsWith(`${posix.dirname(path)}/`)
    ? undefined
    : 'the entry of a folder exports only what lies in it';
}

/** In the kernel, steps of the loop use the state of a run, which knows no step. */
function kernelViolation(path: string, target: string): string | undefined {
  const isWrong = isIn(path, 'core/src/agent/run') && isIn(target, 'core/src/agent/step');
  return isWrong ? 'agent/run must not import agent/step, the steps of the loop' : undefined;
}

/** Features are independent: what two of them need lies in a folder before them. */
function featureViolation(path: string, target: string): string | undefined {
  const [own, other] = [featureOf(path), featureOf(target)];
  if (own === undefined || other === undefined || own === other) return undefined;
  return `${own}/ must not import ${other}/, another feature`;
}

/** A provider is independent: only its own folder and an entry file know it. */
function providerViolation(path: string, target: string): string | undefined {
  const provider = providerOf(target);
  if (provider === undefined || folderOf(path) === undefined || providerOf(path) === provider)
    return undefined;
  return `${posix.dirname(path).replace(/^.*?src\//, '')} must not import model/${provider}, a provider`;
}

function isException(path: string, { target, typeOnly }: Imported): boolean {
  return exceptions.some(
    ({ from, to, values }) => (typeOnly || values) && isIn(path, from) && isIn(target, to),
  );
}

function isIn(path: string, place: string): boolean {
  return path === `packages/${place}` || path.startsWith(`packages/${place}/`);
}

/** Returns the folder directly below a package's `src`, or `undefined` for an entry file. */
function folderOf(path: string): string | undefined {
  return /^packages\/[^/]+\/src\/([^/]+)\//.exec(path)?.[1];
}

/** Returns the folder of a feature of core. */
function featureOf(path: string): string | undefined {
  const folder = /^packages\/core\/src\/([^/]+)\//.exec(path)?.[1];
  return folder !== undefined && features.includes(folder) ? folder : undefined;
}

/** Returns the folder of a provider in `model/` of core. Its other folders are for all of them. */
function providerOf(path: string): string | undefined {
  return /^packages\/core\/src\/model\/(?!(?:http|reply|formatter)\/)([^/]+)\//.exec(path)?.[1];
}

function isTest(path: string): boolean {
  return /\.test\.tsx?$/.test(path);
}
