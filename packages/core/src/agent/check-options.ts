import {
  missingPart,
  misconfigured,
  checkFields,
  checkOptions,
  fieldsIn,
  unknownIn,
} from '../error/agent-error.ts';
import { checkId } from '../error/check-id.ts';
import { generateFields } from '../model/chat-model.ts';
import { checkTool, requiredParts, type Tool } from '../tool/tool.ts';
import type { AgentSettings, KernelCallOptions, KernelOptions } from './kernel-options.ts';
import { checkHandlers, hookFields } from '../event/check-hook.ts';
import type { Middleware, UseList } from './middleware.ts';
import { pickFields, omitUndefined } from '../message/json.ts';
import { partsOf, withDefaults, withoutRemoved } from './use-list.ts';

/** The options that a class of agents takes, for `checkOptions`. */
export interface OptionFields {
  /** Name of the class. */
  readonly className: string;
  readonly agent: string;
  readonly limits: string;
  readonly call: string;
}

/** The options of the kernel's `Agent`. */
export const kernelFields: OptionFields = {
  className: 'Agent',
  agent:
    'name:string systemPrompt,recoveryMessage,userId,sessionId:string|? model:stream() ' +
    'tools:array|schemas()|? toolContext:iterator()|? memory:append()|? use ' +
    'limits,generate:object|? generateId,now,monotonicNow:function|? onHookError:fail|ignore|? ' +
    'whenBusy:reject|queue|? presetPriority:preset|model|? ' +
    'preCallHooks:change|notify|?',
  limits: 'iterations,parallelTools,timeoutMs,replyLength,replyCalls,resultLength:nonNegative|?',
  call:
    'signal:addEventListener()|? detached,throwOnError:boolean|? use:array|? ' +
    `toolContext:iterator()|? ${generateFields.replaceAll('|?', '|null|?')}`,
};

/**
 * Completes the options of an agent with the defaults of its middleware and the kernel. Throws
 * `CONFIGURATION` for an option or a default of the wrong type, and for one that this class of
 * agents does not have.
 */
export function agentSettings(
  ownOptions: KernelOptions,
  use: readonly Middleware[],
  fields: OptionFields,
): AgentSettings {
  checkDefaults(use, fields);
  const options = withDefaults(ownOptions, use);
  const { className } = fields;
  checkOptions(className, options, fields.agent);
  const { name, sessionId, userId } = options;
  for (const [key, id] of Object.entries({ name, sessionId, userId }))
    if (id !== undefined) checkId(id, `${key} of ${className}`, 'CONFIGURATION');
  checkFields(`${className}: the model`, options.model, 'features:object');
  checkOptions(`${className}: limits`, options.limits, fields.limits);
  checkOptions(`${className}: generate`, options.generate, generateFields);
  if (Array.isArray(options.tools)) options.tools.forEach(checkTool);
  return options;
}

/** Throws `CONFIGURATION` for a default that this class of agents does not have. */
function checkDefaults(use: readonly Middleware[], fields: OptionFields): void {
  const { className, agent } = fields;
  for (const { name = 'unnamed', defaults = {} } of use) {
    const { limits = {}, ...options } = defaults;
    const key = unknownIn(options, agent) ?? unknownIn(limits, fields.limits);
    if (key === undefined) continue;
    const advice = fields === kernelFields ? ' Use ReActAgent.' : '';
    const message = `The middleware "${name}" sets \`${key}\`, which ${className} does not have.${advice}`;
    throw misconfigured(message);
  }
}

/**
 * Returns the options of a run. The agent call overrides the options that middleware reads, and
 * the settings of model requests.
 */
export function runOptions(options: AgentSettings, call: KernelCallOptions): AgentSettings {
  const callOptions = omitUndefined(call);
  const ofKernel = fieldsIn(kernelFields.call);
  const settings = fieldsIn(generateFields);
  const overrides = pickFields(callOptions, (key) => !ofKernel.has(key));
  const generate = { ...options.generate, ...pickFields(call, (key) => settings.has(key)) };
  return { ...options, ...overrides, generate: withoutRemoved(generate) };
}

/**
 * Throws `CONFIGURATION` if the middleware has no part of this name. A part that has only a name
 * removes the part of a preset. `what`: what needs it, as the start of a sentence.
 */
export function requirePart(use: readonly Middleware[], part: string, what: string): void {
  const isThere = use.some((one) => one.name === part && Object.keys(one).length > 1);
  if (!isThere) throw missingPart(part, what);
}

/** Throws `CONFIGURATION` if the middleware does not have the parts that a tool requires. */
export function requireParts(use: readonly Middleware[], tool: Tool): void {
  for (const part of requiredParts(tool)) requirePart(use, part, `The tool "${tool.name}"`);
}

/**
 * Returns the middleware of a `use` list as one flat list. Throws `CONFIGURATION` for an entry that
 * is no middleware, and for a wrong type or an unknown event in one.
 */
export function checkedParts(use: UseList): Middleware[] {
  for (const part of (use as readonly unknown[]).flat(Infinity)) checkPart(part as Middleware);
  return partsOf(use);
}

/**
 * Middleware may have members of its own. A misspelled wrapper is refused, because it would be
 * missing without a sign. So are `onEvent`, AgentScope's name for `on: { '*': … }`, and an object
 * of another kind, such as an output rule.
 */
function checkPart(part: Middleware): void {
  if (checkedMiddleware.has(part)) return;
  checkFields('A middleware', part, partFields);
  const isPart = [...fieldsIn(partFields).keys()].some((key) => key !== 'name' && key in part);
  const isChecked = (key: string): boolean => !isPart || /^(wrap[A-Z]|onEvent$)/.test(key);
  checkOptions('A middleware', pickFields(part, isChecked), partFields);
  checkHandlers(part);
  checkedMiddleware.add(part);
}

/** Middleware that was checked. Many agents may share it. */
const checkedMiddleware: WeakSet<Middleware> = new WeakSet();

const partFields =
  `${hookFields} defaults:object|? tools:array|? mapEvent,wrapRun,wrapInput,wrapSettle,` +
  'wrapRequest,wrapModel,wrapReply,wrapRound,wrapTool:function|?';
