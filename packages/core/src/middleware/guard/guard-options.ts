import type { ErrorMessageOptions } from '../../error/error-message.ts';
import { reportFailure } from '../../error/report-failure.ts';
import type { TokenProfile } from '../../tokens/token-profile.ts';

/** Options of guards. `errorMessage` writes the text of rejections with these options. */
export interface GuardOptions extends ErrorMessageOptions {
  /**
   * Function that gets exceptions of stages and rules. They are reported nowhere else. Default:
   * `console.warn`.
   */
  readonly onError?: (error: unknown, stage: string) => void;
  /**
   * Token profile that estimates the usage of model requests without reported usage, such as the
   * request of a cut-off reply. Default `arc`.
   */
  readonly profile?: TokenProfile;
}

/** Fields of `GuardOptions` for `checkOptions`. */
export const guardFields =
  'locale:string|? messages:object|? onError:function|? profile:countText()|?';

/** Function that gets exceptions, with the name of the stage or rule that threw. */
export type Report = (error: unknown, name: string) => void;

/**
 * Returns a function that passes exceptions to `onError`. If `onError` throws, the result of the
 * guard does not change.
 */
export function reporter({ onError }: GuardOptions): Report {
  return (error, name) => reportFailure(`Guard "${name}" failed:`, onError, error, name);
}
