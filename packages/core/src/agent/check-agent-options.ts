import { missingMiddleware, misconfigured } from '../error/agent-error.ts';
import { checkId } from '../error/options/check-id.ts';
import { checkTool, requiredMiddleware, type Tool } from '../tool/tool.ts';
import type {
  AgentSettings,
  KernelCallOptions,
  KernelOptions,
  KernelLimits,
} from './kernel-options.ts';
import { checkHandlers, hookFields } from '../event/check-hook.ts';
import type { Middleware, UseList } from './middleware.ts';
import { pickFields, omitUndefined } from '../message/json.ts';
import { withDefaults, withoutRemoved, flatList } from './use-list.ts';
import { checkFields } from '../error/options/check-fields.ts';
import { checkOptions, unknownOption } from '../error/options/check-options.ts';
import {
  anything,
  array,
  boolean,
  func,
  iterable,
  nonNegative,
  nullable,
  object,
  oneOf,
  optional,
  string,
  withMethod,
} from '../error/options/kinds.ts';
import type { Kind, OptionTable } from '../error/options/option-table.ts';
import { generateOptions } from '../model/chat-model.ts';
import { chatModel } from '../model/model-kind.ts';
import { toolSource } from '../tool/set/tool-source-kind.ts';
import { otherAgentNames, otherLimitNames, otherSettingNames } from './other-names.ts';

type Table = Readonly<Record<string, Kind>>;

/** The options that a class of agents takes, for `checkOptions`. */
export interface AgentTables {
  /** Name of the class. */
  readonly className: string;
  readonly agent: Table;
  readonly limits: Table;
  readonly call: Table;
}

/** The kinds of the options of the kernel's `Agent`. */
export const kernelOptions: OptionTable<KernelOptions> = {
  name: string,
  systemPrompt: optional(string),
  recoveryMessage: optional(string),
  userId: optional(string),
  sessionId: optional(string),
  model: chatModel,
  tools: optional(toolSource),
  toolContext: optional(iterable),
  memory: optional(withMethod('append')),
  use: anything,
  limits: optional(object),
  generate: optional(object),
  generateId: optional(func),
  now: optional(func),
  monotonicNow: optional(func),
  onHookError: optional(oneOf('fail', 'ignore')),
  whenBusy: optional(oneOf('reject', 'queue')),
  presetPriority: optional(oneOf('preset', 'model')),
  preCallHooks: optional(oneOf('change', 'notify')),
};

export const kernelLimits: OptionTable<KernelLimits> = {
  iterations: optional(nonNegative),
  parallelTools: optional(nonNegative),
  timeoutMs: optional(nonNegative),
  replyLength: optional(nonNegative),
  replyCalls: optional(nonNegative),
  resultLength: optional(nonNegative),
};

/** The kinds of the options of an agent call. `null` removes a setting of the agent. */
export const kernelCallOptions: OptionTable<KernelCallOptions> = {
  signal: optional(withMethod('addEventListener')),
  detached: optional(boolean),
  inputStored: optional(boolean),
  throwOnError: optional(boolean),
  use: optional(array),
  toolContext: optional(iterable),
  toolChoice: nullable(generateOptions.toolChoice),
  maxTokens: nullable(generateOptions.maxTokens),
  temperature: nullable(generateOptions.temperature),
  topP: nullable(generateOptions.topP),
  seed: nullable(generateOptions.seed),
  stop: nullable(generateOptions.stop),
  responseSchema: nullable(generateOptions.responseSchema),
  providerOptions: nullable(generateOptions.providerOptions),
};

/** The options of the kernel's `Agent`. */
export const kernelTables: AgentTables = {
  className: 'Agent',
  agent: kernelOptions,
  limits: kernelLimits,
  call: kernelCallOptions,
};

/**
 * Completes the options of an agent with the defaults of its middleware and the kernel. Throws
 * `CONFIGURATION` for an option or a default of the wrong type, and for one that this class of
 * agents does not have.
 */
export function agentSettings(
  ownOptions: KernelOptions,
  use: readonly Middleware[],
  tables: AgentTables,
): AgentSettings {
  checkDefaults(use, tables);
  const options = withDefaults(ownOptions, use);
  const { className } = tables;
  checkOptions(className, options, tables.agent, 'CONFIGURATION', otherAgentNames);
  const { name, sessionId, userId } = options;
  for (const [key, id] of Object.entries({ name, sessionId, userId }))
    if (id !== undefined) checkId(id, `${key} of ${className}`, 'CONFIGURATION');
  checkFields(`${className}: the model`, options.model, { features: object });
  checkOptions(
    `${className}: limits`,
    options.limits,
    tables.limits,
    'CONFIGURATION',
    otherLimitNames,
  );
  checkOptions(
    `${className}: generate`,
    options.generate,
    generateOptions,
    'CONFIGURATION',
    otherSettingNames,
  );
  if (Array.isArray(options.tools)) options.tools.forEach(checkTool);
  return options;
}

/** Throws `CONFIGURATION` for a default that this class of agents does not have. */
function checkDefaults(use: readonly Middleware[], tables: AgentTables): void {
  const { className, agent } = tables;
  for (const { name = 'unnamed', defaults = {} } of use) {
    const { limits = {}, ...options } = defaults;
    const key = unknownOption(options, agent) ?? unknownOption(limits, tables.limits);
    if (key === undefined) continue;
    const advice = tables === kernelTables ? ' Use ReActAgent.' : '';
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
  const overrides = pickFields(callOptions, (key) => !Object.hasOwn(kernelCallOptions, key));
  const isSetting = (key: string): boolean => Object.hasOwn(generateOptions, key);
  const generate = { ...options.generate, ...pickFields(call, isSetting) };
  return { ...options, ...overrides, generate: withoutRemoved(generate) };
}

/**
 * Throws `CONFIGURATION` if no middleware has this name. Middleware that has only a name removes
 * that of a preset. `what`: what needs it, as the start of a sentence.
 */
export function requireMiddleware(use: readonly Middleware[], name: string, what: string): void {
  const isThere = use.some((one) => one.name === name && Object.keys(one).length > 1);
  if (!isThere) throw missingMiddleware(name, what);
}

/** Throws `CONFIGURATION` if the middleware that a tool requires is missing. */
export function requireMiddlewareOf(tool: Tool, use: readonly Middleware[]): void {
  for (const name of requiredMiddleware(tool))
    requireMiddleware(use, name, `The tool "${tool.name}"`);
}

/**
 * Returns the middleware of a `use` list as one flat list. Throws `CONFIGURATION` for an entry that
 * is no middleware, and for a wrong type or an unknown event in one.
 */
export function checkedUse(use: UseList): Middleware[] {
  for (const one of (use as readonly unknown[]).flat(Infinity)) checkMiddleware(one as Middleware);
  return flatList(use);
}

/**
 * Middleware may have members of its own. A misspelled wrapper is refused, because it would be
 * missing without a sign. So are `onEvent`, AgentScope's name for `on: { '*': … }`, and an object
 * of another kind, such as an output rule.
 */
function checkMiddleware(middleware: Middleware): void {
  if (checkedMiddleware.has(middleware)) return;
  checkFields('A middleware', middleware, middlewareFields);
  const members = Object.keys(middlewareFields).filter((key) => key !== 'name');
  const isMiddleware = members.some((key) => key in middleware);
  const isChecked = (key: string): boolean => !isMiddleware || /^(wrap[A-Z]|onEvent$)/.test(key);
  checkOptions('A middleware', pickFields(middleware, isChecked), middlewareFields);
  checkHandlers(middleware);
  checkedMiddleware.add(middleware);
}

/** Middleware that was checked. Many agents may share it. */
const checkedMiddleware: WeakSet<Middleware> = new WeakSet();

const middlewareFields: OptionTable<Middleware> = {
  ...hookFields,
  defaults: optional(object),
  tools: optional(array),
  mapEvent: optional(func),
  wrapRun: optional(func),
  wrapInput: optional(func),
  wrapSettle: optional(func),
  wrapRequest: optional(func),
  wrapModel: optional(func),
  wrapReply: optional(func),
  wrapRound: optional(func),
  wrapTool: optional(func),
};
