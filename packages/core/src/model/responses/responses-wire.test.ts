import type OpenAI from 'openai';
import { expect, expectTypeOf, test } from 'vitest';
import {
  isIgnored,
  type ResponsesEvent,
  type WireItem,
  type WireResponse,
} from './responses-wire.ts';

type EventType = OpenAI.Responses.ResponseStreamEvent['type'];

type Decoded =
  | 'error'
  | 'response.created'
  | 'response.queued'
  | 'response.in_progress'
  | 'response.output_item.added'
  | 'response.output_item.done'
  | 'response.output_text.delta'
  | 'response.output_text.annotation.added'
  | 'response.output_text.done'
  | 'response.refusal.delta'
  | 'response.refusal.done'
  | 'response.content_part.done'
  | 'response.reasoning_summary_part.done'
  | 'response.reasoning_summary_text.done'
  | 'response.reasoning_text.done'
  | 'response.reasoning_summary_text.delta'
  | 'response.reasoning_text.delta'
  | 'response.function_call_arguments.delta'
  | 'response.function_call_arguments.done'
  | 'response.completed'
  | 'response.incomplete'
  | 'response.failed';

test("the types of events agree with the openai package's", () => {
  expectTypeOf<OpenAI.Responses.ResponseStreamEvent>().toExtend<ResponsesEvent>();
  expectTypeOf<OpenAI.Responses.ResponseOutputItem>().toExtend<WireItem>();
  expectTypeOf<OpenAI.Responses.Response>().toExtend<WireResponse>();
});

/** The event types of the openai package that add nothing to a reply. */
const ignored: Readonly<Record<Exclude<EventType, Decoded>, true>> = {
  'response.audio.delta': true,
  'response.audio.done': true,
  'response.audio.transcript.delta': true,
  'response.audio.transcript.done': true,
  'response.code_interpreter_call.completed': true,
  'response.code_interpreter_call.in_progress': true,
  'response.code_interpreter_call.interpreting': true,
  'response.code_interpreter_call_code.delta': true,
  'response.code_interpreter_call_code.done': true,
  'response.compaction.compacting': true,
  'response.content_part.added': true,
  'response.custom_tool_call_input.delta': true,
  'response.custom_tool_call_input.done': true,
  'response.file_search_call.completed': true,
  'response.file_search_call.in_progress': true,
  'response.file_search_call.searching': true,
  'response.image_generation_call.completed': true,
  'response.image_generation_call.generating': true,
  'response.image_generation_call.in_progress': true,
  'response.image_generation_call.partial_image': true,
  'response.mcp_call.completed': true,
  'response.mcp_call.failed': true,
  'response.mcp_call.in_progress': true,
  'response.mcp_call_arguments.delta': true,
  'response.mcp_call_arguments.done': true,
  'response.mcp_list_tools.completed': true,
  'response.mcp_list_tools.failed': true,
  'response.mcp_list_tools.in_progress': true,
  'response.reasoning_summary_part.added': true,
  'response.shell_call_command.added': true,
  'response.shell_call_command.delta': true,
  'response.shell_call_command.done': true,
  'response.shell_call_output_content.delta': true,
  'response.shell_call_output_content.done': true,
  'response.web_search_call.completed': true,
  'response.web_search_call.in_progress': true,
  'response.web_search_call.searching': true,
};

test.for(Object.keys(ignored))('the event %s is ignored', (type) => {
  expect(isIgnored(type)).toBe(true);
});

test.for([
  'keepalive',
  'response.compaction.compacting',
  'response.apply_patch_call_operation_diff.delta',
  'response.shell_call_command.delta',
])('the event %s, which the package does not have, is ignored', (type) => {
  expect(isIgnored(type)).toBe(true);
});

test.for(['response.new_thing.delta', '', undefined])(
  'the event %s is unknown, so it is not ignored',
  (type) => {
    expect(isIgnored(type)).toBe(false);
  },
);
