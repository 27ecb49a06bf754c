import { checkFields } from '../error/check-fields.ts';
import type { Hook } from '../event/hook.ts';
import type { Msg } from '../message/msg.ts';
import type { AgentOptions, CallOptions } from './agent-options.ts';
import type { Extension } from '../loop/extension.ts';
import type { InterruptRequest } from '../loop/interrupt-request.ts';

/** Throws `CONFIGURATION` for an option that is not of its kind. */
export function checkAgent(options: AgentOptions): void {
  checkFields(
    'CONFIGURATION',
    'ReActAgent',
    options,
    'name:string systemPrompt:string|? model:stream() tools:array|fork()|? hooks:array|? extensions:array|? memory:append()|? limits:object|? ' +
      'whenBusy:reject|queue|inject|? preCall:modifiable|notification|? presetPriority:preset|model|? recoveryMessage:string|? ' +
      'onLimit:function|? context:function|? returnDirect:boolean|function|? toolContext:iterator()|?',
  );
  const { model, limits, tools, hooks = [], extensions = [] } = options;
  const inner = { features: model.features, ...limits };
  checkFields(
    'CONFIGURATION',
    'ReActAgent',
    inner,
    'features:object iterations:count|? parallelTools:count|? toolCalls:count|? tokens:count|? timeoutMs:count|?',
  );
  [...hooks, ...extensions].forEach(checkPart);
  if (Array.isArray(tools))
    for (const tool of tools)
      checkFields('CONFIGURATION', 'A tool', tool, 'name:string input:validate()');
}

/** A hook, or an extension. */
export function checkPart(part: Hook | Extension): void {
  const fields =
    'on:object|? onEvent:function|? onError:fail|ignore|? priority:number|? hooks:array|? tools:array|? recall:function|? guard:function|? ' +
    'wrapModel:function|? wrapTool:function|? wrapAnswer:function|? wrapCall:function|? needsApproval:function|?';
  checkFields('CONFIGURATION', 'A hook or extension', part, fields);
}

/** Throws `INVALID_INPUT` for an option that is not of its kind. */
export function checkCall(options: CallOptions): void {
  checkFields(
    'INVALID_INPUT',
    'The options',
    options,
    'signal:addEventListener()|? allowTools:array|? output:begin()|? returnDirect:boolean|function|? context:iterator()|?',
  );
}

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
