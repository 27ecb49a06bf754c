export { AgentError, errorText, fieldsOf } from './agent-error.ts';
export type { AgentErrorCode, AgentErrorData, AgentErrorOptions } from './agent-error.ts';
export { checkFields } from './check-fields.ts';
export { checkId } from './check-id.ts';
export { checkNoOptions, checkOptions } from './check-options.ts';
export { classifyError } from './classify-error.ts';
export type { ErrorClass } from './classify-error.ts';
export {
  anything,
  array,
  boolean,
  either,
  func,
  infinity,
  iterable,
  natural,
  nonNegative,
  number,
  object,
  oneOf,
  optional,
  positive,
  share,
  string,
  strings,
  whole,
  withMethod,
} from './kinds.ts';
export { addSecrets, logText } from './log-text.ts';
export { maskSecrets } from './mask-secrets.ts';
export type { AllFields, FieldTable, Kind, OptionTable, OtherNames } from './option-table.ts';
export { callListener, reportFailure } from './report-failure.ts';
export { userErrorText } from './user-error-text.ts';
export type { GuardCategory, UserErrorTextOptions, UserErrorTexts } from './user-error-text.ts';
