import type { ChatModel, ModelFeatures, ModelRequest } from '../chat-model.ts';
import type { Formatter } from '../formatter.ts';
import { httpRequest, type HttpModelOptions } from './http-request.ts';
import { streamReply } from './http-transport.ts';

/** What a provider's model has besides the options that every model over HTTP has. */
export interface HttpProvider {
  /** Name of the provider, for metrics and traces. */
  readonly provider: string;
  readonly features: ModelFeatures;
  readonly formatter: Formatter;
  /** Returns the address to which a request goes. */
  url(request: ModelRequest): string;
  /** Path at the end of most base URLs of the API. Default: `/v1`. */
  readonly api?: string;
}

/** Creates a model that sends each request to an HTTP server and reads the reply as it arrives. */
export function httpModel(options: HttpModelOptions, own: HttpProvider): ChatModel {
  const { provider, features, formatter, url, ...about } = own;
  return {
    provider,
    modelId: options.model,
    features,
    stream: (request, context) =>
      streamReply(
        async () => ({
          ...about,
          ...(await httpRequest(options, context)),
          url: url(request),
          body: formatter.format(request),
        }),
        formatter.decoder(),
      ),
  };
}
