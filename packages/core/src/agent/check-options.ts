import {
  missingPart,
  misconfigured,
  checkFields,
  checkOptions,
  fieldsIn,
  unknownIn,
} from '../error/agent-error.ts';
import { generateFields } from '../model/chat-model.ts';
import { checkTool, requiredParts, type Tool } from '../tool/tool.ts';
import type { AgentSettings, KernelCallOptions, KernelOptions } from './kernel-options.ts';
import { checkHandlers, hookFields } from '../event/check-hook.ts';
import type { Middleware, UseList } from './middleware.ts';
import { setFields } from '../message/json.ts';
import { withDefaults } from './use-list.ts';

/** The options that a class of agents takes, for `checkOptions`. */
export interface OptionFields {
  /** Name of the class. */
  readonly of: string;
  readonly agent: string;
  readonly limits: string;
  readonly call: string;
}

/** The options of the kernel's `Agent`. */
export const kernelFields: OptionFields = {
  of: 'Agent',
  agent:
    'name:string systemPrompt,recoveryMessage,userId,sessionId:string|? model:stream() ' +
    'tools:array|schemas()|? toolContext:iterator()|? memory:append()|? use ' +
    'limits,generate:object|? generateId,now:function|? onHookError:fail|ignore|? ' +
    'whenBusy:reject|queue|? preCall:modifiable|notification|? presetPriority:preset|model|?',
  limits: 'iterations,parallelTools,timeoutMs,replyLength,replyCalls,resultLength:count|?',
  call:
    'signal:addEventListener()|? detached,throwOnError:boolean|? allowTools:array|? ' +
    `toolContext:iterator()|? use:array|? ${generateFields}`,
};

/**
 * Completes the options of an agent with the defaults of its middleware and the kernel. Throws
 * `CONFIGURATION` for an option or a default of the wrong type, and for one that this class of
 * agents does not have.
 */
export function completedOptions(
  given: KernelOptions,
  use: readonly Middleware[],
  fields: OptionFields,
): AgentSettings {
  checkDefaults(use, fields);
  const options = withDefaults(given, use);
  const { of } = fields;
  checkOptions(of, options, fields.agent);
  checkFields(`${of}: the model`, options.model, 'features:object');
  checkOptions(`${of}: limits`, options.limits, fields.limits);
  checkOptions(`${of}: generate`, options.generate, generateFields);
  if (Array.isArray(options.tools)) options.tools.forEach(checkTool);
  return options;
}

/** Throws `CONFIGURATION` for a default that this class of agents does not have. */
function checkDefaults(use: readonly Middleware[], fields: OptionFields): void {
  for (const { name = 'unnamed', defaults } of use) {
    if (!defaults) continue;
    const { limits = {}, ...options } = defaults;
    const key = unknownIn(options, fields.agent) ?? unknownIn(limits, fields.limits);
    if (key === undefined) continue;
    const advice = fields === kernelFields ? ' Use ReActAgent.' : '';
    const problem = `The middleware "${name}" sets \`${key}\``;
    throw misconfigured(`${problem}, which ${fields.of} does not have.${advice}`);
  }
}

/**
 * Returns the options of a run. The agent call overrides the options that middleware reads, and
 * the settings of model requests.
 */
export function runOptions(options: AgentSettings, call: KernelCallOptions): AgentSettings {
  const given = Object.entries(setFields(call));
  const pick = (isPicked: (key: string) => boolean): object =>
    Object.fromEntries(given.filter(([key]) => isPicked(key)));
  const ofKernel = fieldsIn(kernelFields.call);
  return {
    ...options,
    ...pick((key) => key === 'allowTools' || !ofKernel.has(key)),
    generate: { ...options.generate, ...pick((key) => fieldsIn(generateFields).has(key)) },
  };
}

/**
 * Throws `CONFIGURATION` if the middleware has no part of this name. A part that has only a name
 * removes the part of a preset. `what`: what needs it, as the start of a sentence.
 */
export function requirePart(use: readonly Middleware[], part: string, what: string): void {
  const found = use.find(({ name }) => name === part);
  if (!found || Object.keys(found).length === 1) throw missingPart(part, what);
}

/** Throws `CONFIGURATION` if the middleware does not have the parts that a tool requires. */
export function requireParts(use: readonly Middleware[], tool: Tool): void {
  for (const part of requiredParts(tool)) requirePart(use, part, `The tool "${tool.name}"`);
}

/** Throws `CONFIGURATION` for an entry of `use` with a wrong type or an unknown event. */
export function checkUse(use: UseList): void {
  for (const part of (use as readonly unknown[]).flat(Infinity)) checkPart(part as Middleware);
}

/**
 * Middleware may have members of its own. A misspelled wrapper is refused, because it would be
 * missing without a sign.
 */
function checkPart(part: Middleware): void {
  checkFields('A middleware', part, partFields);
  const wrappers = Object.entries(part).filter(([key]) => /^wrap[A-Z]/.test(key));
  checkOptions('A middleware', Object.fromEntries(wrappers), partFields);
  checkHandlers(part);
}

const partFields =
  `${hookFields} defaults:object|? tools:array|? mapEvent,wrapRun,wrapInput,wrapSettle,` +
  'wrapRequest,wrapModel,wrapReply,wrapRound,wrapTool:function|?';
