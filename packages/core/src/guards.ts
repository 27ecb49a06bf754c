export { guardInput } from './middleware/guard/input/guard-input.ts';
export type {
  InputCheck,
  InputGuard,
  InputGuardOptions,
} from './middleware/guard/input/guard-input.ts';
export { memoryCounters, storedCounters } from './middleware/guard/input/counter-store.ts';
export type {
  Count,
  CounterOptions,
  CounterStore,
  CounterWindow,
} from './middleware/guard/input/counter-store.ts';
export { injectionPatterns } from './middleware/guard/input/injection-patterns.ts';
export { injection } from './middleware/guard/input/injection.ts';
export type { InjectionOptions, InjectionPattern } from './middleware/guard/input/injection.ts';
export type { GuardOptions, Rejection } from './middleware/guard/rejection.ts';
export { inputLength, type InputLengthOptions } from './middleware/guard/input/input-length.ts';
export { classify, permission, type Classify } from './middleware/guard/input/classify.ts';
export type { PlainText } from './middleware/guard/disguise.ts';
export { rateLimit, type RateLimitOptions } from './middleware/guard/input/rate-limit.ts';
export { spendCap, type SpendCapOptions } from './middleware/guard/input/spend-cap.ts';
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
