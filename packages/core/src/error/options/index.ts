export { checkFields } from './check-fields.ts';
export { checkId } from './check-id.ts';
export { checkNoOptions, checkOptions } from './check-options.ts';
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
export type { AllFields, FieldTable, Kind, OptionTable, OtherNames } from './option-table.ts';
