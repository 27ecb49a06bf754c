import { checkFields, checkOptions } from '../error/check-fields.ts';
import type { AgentHook, UseList } from '../loop/middleware.ts';
import type { AgentOptions, CallOptions } from './agent-options.ts';

/** Throws `CONFIGURATION` for an option that is not of its kind. */
export function checkAgent(options: AgentOptions): void {
  checkOptions('CONFIGURATION', 'ReActAgent', options, agentFields);
  const { model, limits = {}, tools, use = [] } = options;
  checkFields('CONFIGURATION', 'ReActAgent: the model', model, 'features:object');
  checkOptions('CONFIGURATION', 'ReActAgent: limits', limits, limitFields);
  checkUse(use);
  if (!Array.isArray(tools)) return;
  for (const tool of tools) {
    checkFields('CONFIGURATION', 'A tool', tool, 'name:string input:validate()');
  }
}

const agentFields =
  'name:string systemPrompt:string|? model:stream() tools:array|fork()|? toolContext:iterator()|? ' +
  'memory:append()|? use:array|? limits:object|? onLimit:function|? onHookError:fail|ignore|? ' +
  'whenBusy:reject|queue|inject|? recoveryMessage:string|? preCall:modifiable|notification|? ' +
  'returnDirect:boolean|function|? presetPriority:preset|model|? generate:object|? ' +
  'userId:string|? sessionId:string|? generateId:function|? now:function|?';

const limitFields =
  'iterations:count|? parallelTools:count|? toolCalls:count|? tokens:count|? timeoutMs:count|?';

function checkUse(use: UseList): void {
  for (const part of use) {
    if (Array.isArray(part)) checkUse(part);
    else checkFields('CONFIGURATION', 'A middleware', part, middlewareFields);
  }
}

const hookFields = 'name:string|? on:object|? onEvent:function|? onError:fail|ignore|?';

const middlewareFields =
  `${hookFields} defaults:object|? tools:array|? guard:function|? recall:function|? ` +
  'fit:function|? count:function|? approve:function|? decide:function|? ' +
  'closeOpenCall:function|? mapEvent:function|? wrapRun:function|? wrapModel:function|? ' +
  'wrapTool:function|? wrapAnswer:function|?';

/** Throws `CONFIGURATION` for what is no hook: a middleware's other parts belong into `use`. */
export function checkHook(hook: AgentHook): void {
  checkOptions('CONFIGURATION', 'addHook()', hook, hookFields);
}

/** Throws `INVALID_INPUT` for an option that is not of its kind. */
export function checkCall(options: CallOptions): void {
  checkOptions('INVALID_INPUT', 'The call', options, callFields);
}

const callFields =
  'signal:addEventListener()|? detached:boolean|? throwOnError:boolean|? allowTools:array|? ' +
  'returnDirect:boolean|function|? toolContext:iterator()|? output:begin()|? toolChoice:string|object|? ' +
  'maxTokens:number|? temperature:number|? responseSchema:object|? providerOptions:object|?';
