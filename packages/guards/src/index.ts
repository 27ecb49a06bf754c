export { inMemoryCounters, storedCounters } from './counters/counter-store.ts';
export type {
  CounterStore,
  CounterWindow,
  StoredCountersOptions,
  WindowTotal,
} from './counters/counter-store.ts';
export { rateLimit } from './counters/rate-limit.ts';
export type { RateLimitOptions } from './counters/rate-limit.ts';
export { spendCap } from './counters/spend-cap.ts';
export type { SpendCapOptions } from './counters/spend-cap.ts';
export type { CounterOptions } from './counters/user-counter.ts';
export { classifierGuard } from './input/classifier-guard.ts';
export type { Classifier } from './input/classifier-guard.ts';
export { injectionGuard } from './input/injection-guard.ts';
export type { InjectionGuardOptions, InjectionPattern } from './input/injection-guard.ts';
export { injectionPatterns } from './input/injection-patterns.ts';
export { inputGuard } from './input/input-guard.ts';
export type { InputCheck, InputGuard, InputGuardOptions } from './input/input-guard.ts';
export { lengthGuard } from './input/length-guard.ts';
export type { LengthGuardOptions } from './input/length-guard.ts';
export { permissionGuard } from './input/permission-guard.ts';
export type { TextForms } from './normalize-text.ts';
export { lengthRule } from './output/length-rule.ts';
export type { LengthRuleOptions, LengthViolation } from './output/length-rule.ts';
export { outputGuards } from './output/output-guards.ts';
export type { OutputGuardOptions } from './output/output-guards.ts';
export type {
  Finding,
  OutputAction,
  OutputRule,
  Review,
  ReviewContext,
} from './output/output-rule.ts';
export { regexRule } from './output/regex-rule.ts';
export type { RegexRuleOptions } from './output/regex-rule.ts';
export { piiGuard } from './pii/pii-guard.ts';
export type { PiiGuardOptions } from './pii/pii-guard.ts';
export type { PiiKind } from './pii/pii-kinds.ts';
export { piiRule } from './pii/pii-rule.ts';
export type { PiiRule, PiiRuleOptions } from './pii/pii-rule.ts';
export type { GuardOptions, Rejection } from './rejection.ts';
