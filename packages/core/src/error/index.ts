export {
  AgentError,
  checkFields,
  checkOptions,
  errorText,
  fieldOf,
  fieldsOf,
  invalidInput,
  isError,
  misconfigured,
} from './agent-error.ts';
export type { AgentErrorCode, AgentErrorData, AgentErrorOptions } from './agent-error.ts';
export { checkId } from './check-id.ts';
export { classifyError } from './classify-error.ts';
export type { ErrorClass } from './classify-error.ts';
export { addSecrets, logText } from './log-text.ts';
export { maskSecrets } from './mask-secrets.ts';
export { callListener, reportFailure } from './report-failure.ts';
export { userErrorText } from './user-error-text.ts';
export type {
  GuardCategory,
  UserErrorKey,
  UserErrorTextOptions,
  UserErrorTexts,
} from './user-error-text.ts';
export { userErrorTexts } from './user-error-texts.ts';
