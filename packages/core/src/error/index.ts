export { AgentError, errorText, fieldsOf } from './agent-error.ts';
export type { AgentErrorCode, AgentErrorData, AgentErrorOptions } from './agent-error.ts';
export { classifyError } from './classify-error.ts';
export type { ErrorClass } from './classify-error.ts';
export { addSecrets, logText } from './log-text.ts';
export { maskSecrets } from './mask-secrets.ts';
export { callListener, reportFailure } from './report-failure.ts';
export { userErrorText } from './user-error-text.ts';
export type { GuardCategory, UserErrorTextOptions, UserErrorTexts } from './user-error-text.ts';
