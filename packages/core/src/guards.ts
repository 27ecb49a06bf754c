export { guardInput } from './middleware/guard/input/guard-input.ts';
export type {
  InputCheck,
  InputGuard,
  InputGuardOptions,
} from './middleware/guard/input/guard-input.ts';
export { memoryCounters, storedCounters } from './middleware/guard/input/counter-store.ts';
export type { Count, CounterStore, CounterWindow } from './middleware/guard/input/counter-store.ts';
export { injectionPatterns } from './middleware/guard/input/injection-patterns.ts';
export { injection } from './middleware/guard/input/injection.ts';
export type { InjectionOptions, InjectionPattern } from './middleware/guard/input/injection.ts';
export type { GuardOptions, Rejection } from './middleware/guard/rejection.ts';
export { classify, inputLength, permission } from './middleware/guard/input/input-guards.ts';
export type { Classify, InputLengthOptions } from './middleware/guard/input/input-guards.ts';
export type { PlainText } from './middleware/guard/disguise.ts';
export { rateLimit, spendCap } from './middleware/guard/input/user-limits.ts';
export type {
  CounterOptions,
  RateLimitOptions,
  SpendCapOptions,
} from './middleware/guard/input/user-limits.ts';
export { outputGuards, type OutputGuardOptions } from './middleware/guard/output/output-guards.ts';
export { outputLength } from './middleware/guard/output/output-length.ts';
export type {
  LengthViolation,
  OutputLengthOptions,
} from './middleware/guard/output/output-length.ts';
export type {
  Finding,
  OutputAction,
  OutputRule,
  Review,
  ReviewContext,
} from './middleware/guard/output/output-rule.ts';
export { regexRule, type RegexRuleOptions } from './middleware/guard/output/regex-rule.ts';
export { maskPii, type MaskPiiOptions } from './middleware/guard/pii/mask-pii.ts';
export { piiGuard, type PiiGuardOptions } from './middleware/guard/pii/pii-guard.ts';
export type { PiiKind } from './middleware/guard/pii/pii-kinds.ts';
