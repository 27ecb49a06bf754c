export type { GuardContext } from './guard/input/input-stage.ts';
export { decisionClaims } from './guard/input/decision-claims.ts';
export { memoryCounters, storedCounters } from './guard/input/counter-store.ts';
export type { Count, CounterStore, CounterWindow } from './guard/input/counter-store.ts';
export { injectionPatterns } from './guard/input/injection-patterns.ts';
export { injection } from './guard/input/injection.ts';
export type { InjectionOptions, InjectionPattern } from './guard/input/injection.ts';
export { inputGuards } from './guard/input/input-guards.ts';
export type { GuardOptions } from './guard/input/input-guards.ts';
export { inputLength } from './guard/input/input-length.ts';
export type { InputLengthOptions } from './guard/input/input-length.ts';
export type { EndedCall, InputStage, StageRejection } from './guard/input/input-stage.ts';
export { classify, permission } from './guard/input/own-stage.ts';
export type { Classify } from './guard/input/own-stage.ts';
export type { PlainText } from './guard/input/plain-text.ts';
export { rateLimit } from './guard/input/rate-limit.ts';
export type { CounterOptions, RateLimitOptions } from './guard/input/rate-limit.ts';
export { spendCap } from './guard/input/spend-cap.ts';
export type { SpendCapOptions } from './guard/input/spend-cap.ts';
export { outputGuards } from './guard/output/output-guards.ts';
export type { OutputGuardOptions } from './guard/output/output-guards.ts';
export { outputLength } from './guard/output/output-length.ts';
export type { LengthViolation, OutputLengthOptions } from './guard/output/output-length.ts';
export type {
  Finding,
  OutputAction,
  OutputRule,
  Review,
  ReviewContext,
} from './guard/output/output-rule.ts';
export { regexRule } from './guard/output/regex-rule.ts';
export type { RegexRuleOptions } from './guard/output/regex-rule.ts';
export { maskPii } from './guard/pii/mask-pii.ts';
export type { MaskPiiOptions } from './guard/pii/mask-pii.ts';
export { piiGuard } from './guard/pii/pii-guard.ts';
export type { PiiGuardOptions } from './guard/pii/pii-guard.ts';
export type { PiiKind } from './guard/pii/pii-kinds.ts';
