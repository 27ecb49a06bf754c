import type { Context } from 'hono';
import {
  checkModel,
  readJson,
  type ApiCall,
  type HandlerSettings,
  type RequestBody,
} from '@isoloop/edge/api';
import { callFields, readCall } from '../request/completion-call.ts';
import type { OpenAiSettings } from '../request/openai-options.ts';
import { findIgnoredFields } from '../request/field-table.ts';
import { readStreaming } from '../request/request-fields.ts';
import type { EdgeEnv } from '@isoloop/edge';
import type { OpenAiApi } from '../request/client-tools.ts';
import { nameIgnoredFields } from './name-ignored-fields.ts';

/** Parts that requests of both APIs have. */
interface CommonRequest {
  readonly body: RequestBody;
  readonly model: string;
  readonly call: ApiCall;
  /** Fields that `call` was read from. */
  readonly fields: RequestBody;
  readonly stream: boolean;
  readonly includeUsage: boolean;
  /** Names of the fields that have no effect. */
  readonly ignoredFields: readonly string[];
  /** Settings of the answer. */
  readonly answerSettings: {
    readonly model: string;
    readonly created: number;
    readonly reasoning: boolean;
    readonly sendsWholeText: boolean;
  };
}

/**
 * Reads a request and the fields that both APIs have. Rejects with `INVALID_INPUT` for an invalid
 * field, and for a refused one. The answer names the fields that have no effect.
 */
export async function readRequest(
  c: Context<EdgeEnv>,
  settings: HandlerSettings,
  openAi: OpenAiSettings,
  api: OpenAiApi,
): Promise<CommonRequest> {
  const body = await readJson(c.req.raw, settings.limits.bodyBytes);
  const model = checkModel(body['model'], settings.models);
  const ignoredFields = findIgnoredFields(body, api, openAi);
  // The answer names them also if a later check fails.
  nameIgnoredFields(c, ignoredFields, openAi);
  const fields = callFields(body, api);
  const call = readCall(fields, settings, openAi);
  const answerSettings = {
    model,
    created: Math.floor(Date.now() / 1000),
    reasoning: openAi.thinking,
    sendsWholeText: call.sendsWholeText,
  };
  return { body, model, call, fields, ...readStreaming(body), ignoredFields, answerSettings };
}
