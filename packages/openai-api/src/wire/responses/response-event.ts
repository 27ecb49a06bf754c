import type {
  ResponseFunctionCall,
  ResponseItem,
  ResponseObject,
  ResponseSummary,
  ResponseText,
  UrlCitation,
} from './response-object.ts';

/** Names an item of a stream, in its events. */
export interface ItemRef {
  readonly item_id: string;
  /** Index of the item in the response's `output`. */
  readonly output_index: number;
}

interface TextRef extends ItemRef {
  readonly content_index: number;
}

interface SummaryRef extends ItemRef {
  readonly summary_index: number;
}

/** Event of the Responses API, without its number. */
export type UnnumberedEvent =
  | {
      readonly type:
        | 'response.created'
        | 'response.in_progress'
        | 'response.completed'
        | 'response.incomplete'
        | 'response.failed';
      readonly response: ResponseObject;
    }
  | {
      readonly type: 'response.output_item.added' | 'response.output_item.done';
      readonly output_index: number;
      readonly item: ResponseItem;
    }
  | (TextRef & {
      readonly type: 'response.content_part.added' | 'response.content_part.done';
      readonly part: ResponseText;
    })
  | (TextRef & {
      readonly type: 'response.output_text.delta';
      readonly delta: string;
      readonly logprobs: readonly never[];
    })
  | (TextRef & {
      readonly type: 'response.output_text.done';
      readonly text: string;
      readonly logprobs: readonly never[];
    })
  | (TextRef & {
      readonly type: 'response.output_text.annotation.added';
      readonly annotation: UrlCitation;
      /** Index of the annotation in its text. */
      readonly annotation_index: number;
    })
  | (SummaryRef & {
      readonly type:
        | 'response.reasoning_summary_part.added'
        | 'response.reasoning_summary_part.done';
      readonly part: ResponseSummary;
    })
  | (SummaryRef & {
      readonly type: 'response.reasoning_summary_text.delta';
      readonly delta: string;
    })
  | (SummaryRef & {
      readonly type: 'response.reasoning_summary_text.done';
      readonly text: string;
    })
  | (ItemRef & {
      readonly type: 'response.function_call_arguments.delta';
      readonly delta: string;
    })
  | (ItemRef &
      Pick<ResponseFunctionCall, 'name'> & {
        readonly type: 'response.function_call_arguments.done';
        readonly arguments: string;
      })
  | ResponseErrorEvent;

/**
 * Error in the middle of a stream. The error is in `error`, as OpenAI sends it, and also beside
 * `type`, as OpenAI documents it.
 */
export interface ResponseErrorEvent {
  readonly type: 'error';
  readonly code: string;
  readonly message: string;
  readonly param: null;
  readonly error: {
    readonly type: string;
    readonly code: string;
    readonly message: string;
    readonly param: null;
  };
}

/** Event of the Responses API. The numbers of a stream's events begin with 0. */
export type ResponseEvent = UnnumberedEvent & { readonly sequence_number: number };

/**
 * Adds an event. Joins it with the last event if both are deltas of the same text, so that a batch
 * has one delta for each text.
 */
export function pushJoined(events: UnnumberedEvent[], event: UnnumberedEvent): void {
  const lastEvent = events.at(-1);
  if (lastEvent && 'delta' in lastEvent && 'delta' in event && isSameText(lastEvent, event))
    events[events.length - 1] = { ...lastEvent, delta: lastEvent.delta + event.delta };
  else events.push(event);
}

function isSameText(
  lastEvent: UnnumberedEvent & ItemRef,
  event: UnnumberedEvent & ItemRef,
): boolean {
  const partOf = (each: object): unknown =>
    'content_index' in each ? each.content_index : Object(each).summary_index;
  return (
    lastEvent.type === event.type &&
    lastEvent.item_id === event.item_id &&
    partOf(lastEvent) === partOf(event)
  );
}
