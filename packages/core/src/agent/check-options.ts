import { AgentError } from '../error/agent-error.ts';
import { checkFields, checkOptions } from '../error/check-fields.ts';
import { isMessage } from '../loop/input/call-input.ts';
import { checkDecision } from '../loop/input/check-decision.ts';
import { generateFields } from '../model/chat-model.ts';
import { checkTool } from '../tool/tool.ts';
import type { AgentHook, Middleware } from '../loop/use/middleware.ts';
import type { AgentOptions, CallOptions } from './agent-options.ts';

/** Throws `CONFIGURATION` for an option of the wrong type. */
export function checkAgent(options: AgentOptions): void {
  checkOptions('CONFIGURATION', 'ReActAgent', options, agentFields);
  const { model, limits = {}, generate = {}, tools } = options;
  checkFields('CONFIGURATION', 'ReActAgent: the model', model, 'features:object');
  checkOptions('CONFIGURATION', 'ReActAgent: limits', limits, limitFields);
  checkOptions('CONFIGURATION', 'ReActAgent: generate', generate, generateFields);
  if (!Array.isArray(tools)) return;
  tools.forEach(checkTool);
}

const agentFields =
  'name:string systemPrompt,recoveryMessage,userId,sessionId:string|? model:stream() ' +
  'tools:array|schemas()|? toolContext:iterator()|? memory:append()|? use ' +
  'limits,generate:object|? onLimit,generateId,now:function|? onHookError:fail|ignore|? ' +
  'whenBusy:reject|queue|inject|? preCall:modifiable|notification|? ' +
  'pauseWhenIdle:boolean|? returnDirect:boolean|function|? presetPriority:preset|model|? ' +
  'retrievalRole:user|system|?';

const limitFields =
  'iterations,parallelTools,toolCalls,tokens,timeoutMs,replyLength,replyCalls,resultLength:count|?';

/**
 * Throws `CONFIGURATION` for an entry of `use` with a wrong type or an unknown event.
 */
export function checkUse(options: AgentOptions): void {
  checkFields('CONFIGURATION', 'The options of ReActAgent', options, 'use:array|?');
  const use: readonly unknown[] = options.use ?? [];
  for (const part of use.flat(Infinity)) checkPart(part as Middleware);
}

function checkPart(part: Middleware): void {
  checkFields('CONFIGURATION', 'A middleware', part, `${hookFields} ${partFields}`);
  checkHandlers(part);
}

const hookFields = 'name:string|? on:object|? onEvent:function|? onError:fail|ignore|?';

const partFields =
  'defaults:object|? tools:array|? guard,claims,recall,fit,count,approve,hold,decide,closeOpenCall,' +
  'mapEvent,wrapRun,wrapModel,wrapTool,wrapAnswer,wrapLimit:function|?';

function checkHandlers({ on = {} }: AgentHook): void {
  checkOptions('CONFIGURATION', 'on', on, eventNames);
  for (const [event, entry] of Object.entries(on)) {
    const handler = typeof entry === 'function' ? { handle: entry } : entry;
    checkOptions('CONFIGURATION', `on: ${event}`, handler, 'handle:function priority:number|?');
  }
}

const eventNames =
  'run-start pre-call post-call pre-reasoning post-reasoning reasoning-chunk tool-input-chunk ' +
  'hosted-tool-chunk pre-acting acting-chunk post-acting pre-summary summary-chunk post-summary step-reset ' +
  'context-fitted suspended error run-end';

/**
 * Throws `CONFIGURATION` unless the value is a hook. Middleware with other fields belongs in `use`.
 */
export function checkHook(hook: AgentHook): void {
  checkOptions('CONFIGURATION', 'addHook()', hook, hookFields);
  checkHandlers(hook);
}

/**
 * Throws `INVALID_INPUT` for an option of the wrong type, and for an option that an agent call does
 * not have.
 */
export function checkCall(options: CallOptions): void {
  checkOptions('INVALID_INPUT', 'call()', options, callFields, agentFields);
  for (const [index, item] of options.decisions?.entries() ?? [])
    checkDecision(item, `Item ${index} of \`decisions\``);
  for (const [index, item] of options.instructions?.entries() ?? []) {
    if (isMessage(item)) continue;
    const message = `Item ${index} of \`instructions\` is no message. Create messages with systemMessage('…').`;
    throw new AgentError('INVALID_INPUT', message);
  }
}

const callFields =
  'signal:addEventListener()|? detached,throwOnError:boolean|? ' +
  'allowTools,claims,decisions,instructions:array|? ' +
  'returnDirect:boolean|function|? toolContext:iterator()|? output:begin()|? ' +
  generateFields;
