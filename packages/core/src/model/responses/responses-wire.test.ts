import type OpenAI from 'openai';
import { expect, expectTypeOf, test } from 'vitest';
import {
  isIgnored,
  type IgnoredEvent,
  type WireEvent,
  type WireInputPart,
  type WireItem,
  type WireRequest,
  type WireResponse,
  type WireTool,
} from './responses-wire.ts';

type Responses = OpenAI.Responses.ResponseCreateParamsStreaming;
type EventType = OpenAI.Responses.ResponseStreamEvent['type'];

/** Events that report the progress of a built-in tool. */
type Progress =
  | `response.${string}_call.${string}`
  | `response.${string}_call_command.${string}`
  | `response.${string}_call_output_content.${string}`
  | `response.mcp_list_tools.${string}`;

/** A request as JSON, which omits undefined fields. */
type Sent<T> = { [K in keyof T]: Exclude<T[K], undefined> };

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

test("the types of requests and events agree with the openai package's", () => {
  expectTypeOf<Sent<WireRequest>>().toExtend<Responses>();
  expectTypeOf<WireInputPart>().toExtend<OpenAI.Responses.ResponseInputContent>();
  expectTypeOf<WireTool>().toExtend<OpenAI.Responses.Tool>();
  expectTypeOf<OpenAI.Responses.ResponseStreamEvent>().toExtend<WireEvent>();
  expectTypeOf<OpenAI.Responses.ResponseOutputItem>().toExtend<WireItem>();
  expectTypeOf<OpenAI.Responses.Response>().toExtend<WireResponse>();
});

test('the decoder knows every event type of the openai package', () => {
  expectTypeOf<Exclude<EventType, Decoded | IgnoredEvent | Progress>>().toEqualTypeOf<never>();
});

test.for([
  'response.web_search_call.searching',
  'response.mcp_list_tools.failed',
  'response.image_generation_call.partial_image',
  'response.shell_call_command.delta',
  'response.content_part.added',
])('the event %s is ignored', (type) => {
  expect(isIgnored(type)).toBe(true);
});

test.for(['response.new_thing.delta', '', undefined])(
  'the event %s is unknown, so it is not ignored',
  (type) => {
    expect(isIgnored(type)).toBe(false);
  },
);
