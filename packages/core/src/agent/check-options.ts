import { checkFields, checkOptions } from '../error/check-fields.ts';
import type { Hook } from '../event/hook.ts';
import type { Msg } from '../message/msg.ts';
import type { AgentOptions, CallOptions } from './agent-options.ts';
import type { Extension } from '../loop/extension.ts';
import type { InterruptRequest } from '../loop/interrupt-request.ts';

/** Throws `CONFIGURATION` for an option that is not of its kind. */
export function checkAgent(options: AgentOptions): void {
  checkOptions('CONFIGURATION', 'ReActAgent', options, agentFields);
  const { model, limits = {}, tools, hooks = [], extensions = [] } = options;
  checkFields('CONFIGURATION', 'ReActAgent: the model', model, 'features:object');
  checkOptions('CONFIGURATION', 'ReActAgent: limits', limits, limitFields);
  for (const part of [...hooks, ...extensions]) checkPart(part);
  if (!Array.isArray(tools)) return;
  for (const tool of tools) {
    checkFields('CONFIGURATION', 'A tool', tool, 'name:string input:validate()');
  }
}

const agentFields =
  'name:string systemPrompt:string|? model:stream() tools:array|fork()|? toolContext:iterator()|? ' +
  'memory:append()|? hooks:array|? extensions:array|? limits:object|? onLimit:function|? ' +
  'context:function|? whenBusy:reject|queue|inject|? pendingToolRecovery:boolean|? ' +
  'recoveryMessage:string|? preCall:modifiable|notification|? returnDirect:boolean|function|? ' +
  'presetPriority:preset|model|? generate:object|? userId:string|? sessionId:string|? ' +
  'generateId:function|? now:function|?';

const limitFields =
  'iterations:count|? parallelTools:count|? toolCalls:count|? tokens:count|? timeoutMs:count|?';

/** A hook, or an extension. */
export function checkPart(part: Hook | Extension): void {
  const fields =
    'on:object|? onEvent:function|? onError:fail|ignore|? priority:number|? hooks:array|? ' +
    'tools:array|? recall:function|? guard:function|? wrapModel:function|? wrapTool:function|? ' +
    'wrapAnswer:function|? wrapCall:function|? needsApproval:function|?';
  checkFields('CONFIGURATION', 'A hook or extension', part, fields);
}

/** Throws `INVALID_INPUT` for an option that is not of its kind. */
export function checkCall(options: CallOptions): void {
  checkOptions('INVALID_INPUT', 'The call', options, callFields);
}

const callFields =
  'signal:addEventListener()|? detached:boolean|? throwOnError:boolean|? allowTools:array|? ' +
  'returnDirect:boolean|function|? context:iterator()|? output:begin()|? toolChoice:string|object|? ' +
  'maxTokens:number|? temperature:number|? responseSchema:object|? providerOptions:object|?';

/** What `interrupt()` was given, as a request. Throws `INVALID_INPUT` for what is none. */
export function toInterruptRequest(given: string | Msg | InterruptRequest): InterruptRequest {
  const request = (
    typeof given === 'string' || 'role' in Object(given) ? { message: given } : given
  ) as InterruptRequest;
  checkFields(
    'INVALID_INPUT',
    'interrupt()',
    request,
    'mode:stop|pause|inject|? message:string|object|?',
  );
  if (request.mode === 'inject')
    checkFields('INVALID_INPUT', 'interrupt()', request, 'messages:string|object');
  return request;
}
