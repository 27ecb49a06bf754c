export { inputGuard } from './middleware/guard/input/input-guard.ts';
export type {
  InputCheck,
  InputGuard,
  InputGuardOptions,
} from './middleware/guard/input/input-guard.ts';
export { inMemoryCounters, storedCounters } from './middleware/guard/counters/counter-store.ts';
export type {
  WindowTotal,
  CounterStore,
  CounterWindow,
  StoredCountersOptions,
} from './middleware/guard/counters/counter-store.ts';
export type { CounterOptions } from './middleware/guard/counters/user-counter.ts';
export { injectionPatterns } from './middleware/guard/input/injection-patterns.ts';
export { injectionGuard } from './middleware/guard/input/injection-guard.ts';
export type {
  InjectionGuardOptions,
  InjectionPattern,
} from './middleware/guard/input/injection-guard.ts';
export type { GuardOptions, Rejection } from './middleware/guard/rejection.ts';
export { lengthGuard } from './middleware/guard/input/length-guard.ts';
export { permissionGuard } from './middleware/guard/input/permission-guard.ts';
export { classifierGuard } from './middleware/guard/input/classifier-guard.ts';
export type { LengthGuardOptions } from './middleware/guard/input/length-guard.ts';
export type { Classifier } from './middleware/guard/input/classifier-guard.ts';
export type { TextForms } from './middleware/guard/normalize-text.ts';
export { rateLimit, type RateLimitOptions } from './middleware/guard/counters/rate-limit.ts';
export { spendCap, type SpendCapOptions } from './middleware/guard/counters/spend-cap.ts';
export { outputGuards, type OutputGuardOptions } from './middleware/guard/output/output-guards.ts';
export { lengthRule } from './middleware/guard/output/length-rule.ts';
export type { LengthRuleOptions, LengthViolation } from './middleware/guard/output/length-rule.ts';
export { regexRule, type RegexRuleOptions } from './middleware/guard/output/regex-rule.ts';
export type {
  Finding,
  OutputAction,
  OutputRule,
  Review,
  ReviewContext,
} from './middleware/guard/output/output-rule.ts';
export { piiRule, type PiiRule, type PiiRuleOptions } from './middleware/guard/pii/pii-rule.ts';
export { piiGuard, type PiiGuardOptions } from './middleware/guard/pii/pii-guard.ts';
export type { PiiKind } from './middleware/guard/pii/pii-kinds.ts';
