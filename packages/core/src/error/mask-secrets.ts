/** Names after which a secret follows. */
const name = '(?:key|token|secret|passw(?:or)?d|credentials?|signature|jwt)';

/** Quotes and brackets around a name or a value, also in JSON within JSON. */
const quotes = '[\\\\"\'`()[\\]]*';

/** Patterns of secrets. Their first group stays. */
const patterns: readonly RegExp[] = /* @__PURE__ */ [
  '()-----BEGIN[^-]*PRIVATE KEY-----[^]*?(?:-----END|$)',
  // User name and password in a URL.
  `(//)[^\\s/?#"']{1,500}(?=@)`,
  // Everything after such a name, also text of several words.
  `((?:passw(?:or)?d|passphrase|pwd|authorization|cookie)${quotes}\\s*[:=]\\s*${quotes})[^"'\`\\\\\\n]+`,
  '\\b((?:bearer|basic)(?:[\\s:]|%20)+)(?:(?=\\S{0,500}\\d)[\\w+/=.~:-]{6,}|[\\w+/=.~-]{16,})',
  `((?:${name}|\\b(?:auth|pass|pat|sid|sig))${quotes}\\s*(?:=|%3D)\\s*${quotes})[^\\s"'\`&;,]{4,}`,
  // "k9x2f7 is not a valid API key".
  `()(?<![\\w+/.~-])(?=[\\w+/.~-]{0,200}\\d)[\\w+/.~-]{6,200}(?==*${quotes} is (?:not )?an? (?:in)?valid (?:\\w{1,20} ){0,2}${name})`,
].map((pattern) => new RegExp(pattern, 'gi'));

/** Beginnings of the keys of well-known services. Some are also beginnings of other names. */
const keyWithPrefix =
  /\b(?:(?:gsk_|whsec_|tvly-|nvapi-|glpat-|lsv2_|shp[a-z]{2}_|gh[oprsu]_|github_pat_|xox[a-z]-|[prs]k_(?:live|test)_|[sS][kK]-(?=[\w-]{8})|(?:sk-|hf_|r8_|npm_|xai-|pplx-)(?=[\w-]*[\dA-Z]|[a-z]{16}))[\w.-]{4,}|(?:AKIA|ASIA|AIza|ya29|eyJ)[\w.-]{12,})/g;

/** Text that looks random. The parts of model names and UUIDs are shorter. */
const random = /^(?=.*\d)(?=.*[a-z]).{16}/i;

/** Replaces parts of a text that look like a key, a token or a password by `***`. */
export function maskSecrets(text: string): string {
  const maskedText = patterns.reduce(
    (masked, pattern) => masked.replace(pattern, '$1***'),
    withoutTexts(text, [...secretForms]).replace(keyWithPrefix, '***'),
  );
  return withoutTokensNearNames(maskedText).replace(/[\w-]{16,}/g, (word) =>
    word.split(/[-_]/).some((part) => random.test(part)) ? '***' : word,
  );
}

/** Number of words after a name in which a token is looked for. */
const nearby = 5;
const word = /[^\s"'`,;:=()[\]{}<>\\、。，：；（）「」“”]+/g;
/** A name at the end of a word, such as `apiKey`. Models count `tokens`, which are no secrets. */
const names = /* @__PURE__ */ new RegExp(`(?:${name}|keys|secrets)$`, 'i');

/** A part of letters and digits, but no word with a number, such as `llama3` or `sha256`. */
const lettersAndDigits =
  /(?:^|[^a-z\d])(?![a-z]+\d{1,3}[a-z]?(?![a-z\d]))(?=\d*[a-z])(?=[a-z]*\d)[a-z\d]{6}/i;
/** Six characters with a letter and a digit. */
const shortToken = /^(?=.*\d)(?=.*[a-z]).{6}/i;
const uuid = /^[\da-f-]{36}\b/i;
const pathOrFile = /^[./@]|\.[a-z]{2,4}\.?$/i;

/** Replaces what looks like a token within a few words after a name such as "key". */
function withoutTokensNearNames(text: string): string {
  const search = new TokenSearch();
  let end = 0;
  return text.replace(word, (candidate, at: number) => {
    const gap = text.slice(end, at);
    end = at + candidate.length;
    return search.isToken(candidate, gap) ? '***' : candidate;
  });
}

/** Where a word stands after a name. */
interface PlaceAfterName {
  readonly isFirst: boolean;
  /** Whether quotes or the like begin directly after the name, and the word in them. */
  readonly isQuoted: boolean;
  /** Whether the name can only mean this word. */
  readonly isMeant: boolean;
  /** Whether the name can only name a secret. A key alone may be the key of an object. */
  readonly isStrong: boolean;
}

/** Reads the words of a text in order, and looks for tokens after names. */
class TokenSearch {
  /** Number of words in which a token is still looked for. */
  #wordsLeft = 0;
  #previousWord = '';
  #isStrong = false;

  /** Returns whether the next word looks like a token. `gap`: the text before the word. */
  isToken(candidate: string, gap: string): boolean {
    if (this.#wordsLeft < nearby && gap.includes('\n')) this.#wordsLeft = 0;
    const isToken =
      this.#wordsLeft > 0 &&
      !pathOrFile.test(candidate) &&
      looksLikeToken(candidate, this.#placeAfter(gap));
    if (!isToken && names.test(candidate)) this.#begin(candidate);
    else if (/[.!?]$/.test(candidate)) this.#wordsLeft = 0;
    else this.#wordsLeft -= 1;
    this.#previousWord = candidate;
    return isToken;
  }

  /** Begins to look for a token, after a name. */
  #begin(found: string): void {
    this.#wordsLeft = nearby;
    const isSpecific = /^(?:api|access|secret|private)$/i.test(this.#previousWord);
    this.#isStrong = isSpecific || !/^keys?$/i.test(found);
  }

  #placeAfter(gap: string): PlaceAfterName {
    const isStrong = this.#isStrong;
    const isFirst = this.#wordsLeft === nearby;
    const isQuoted = isFirst && (/[^\s,;]/.test(gap) || /passw/i.test(this.#previousWord));
    const isAfterColon = this.#wordsLeft === nearby - 1 && /[:=：]/.test(gap);
    const isAfterVerb = this.#previousWord === 'is' || this.#previousWord === 'was';
    const isMeant = isStrong && (isQuoted || isAfterColon || isAfterVerb);
    return { isFirst, isQuoted, isMeant, isStrong };
  }
}

/** Returns whether a word looks like a token. Directly after the name, less is enough. */
function looksLikeToken(
  candidate: string,
  { isFirst, isQuoted, isMeant, isStrong }: PlaceAfterName,
): boolean {
  if (lettersAndDigits.test(candidate) || uuid.test(candidate)) return true;
  if (isMeant && shortToken.test(candidate)) return true;
  const { length } = candidate;
  const isProminent = isMeant || isFirst || candidate.includes('+');
  if (isProminent && length >= 8 && /\d/.test(candidate)) return true;
  return isQuoted && length >= 12 && (isStrong || /[^a-z_]/.test(candidate));
}

/** Maximum number of values that are kept. Secrets that change often do not use up the memory. */
const maxForms = 1_000;
/** Shorter values are not masked: they are parts of many words. */
const minSecretLength = 4;

/** Values that no log may show, in all their forms. */
const secretForms: Set<string> = new Set();

/** Masks these values in all later logs, also encoded for URLs, JSON and base64. */
export function addSecretForms(values: readonly unknown[]): void {
  for (const secret of values) {
    // A binding often ends with a line break, which an error does not quote.
    const value = typeof secret === 'string' ? secret.trim() : '';
    if (value.length < minSecretLength || secretForms.has(value)) continue;
    for (const form of formsOf(value)) secretForms.add(form);
  }
  for (const oldest of secretForms) {
    if (secretForms.size <= maxForms) return;
    secretForms.delete(oldest);
  }
}

/**
 * Replaces each of the texts by `***`, the longest first, because a longer one may contain a
 * shorter one.
 */
function withoutTexts(text: string, texts: readonly string[]): string {
  const longestFirst = texts.toSorted((one, other) => other.length - one.length);
  return longestFirst.reduce((masked, value) => masked.replaceAll(value, '***'), text);
}

/** Returns a secret in all forms in which a text may quote it: plain, in URLs, JSON and base64. */
function formsOf(value: string): readonly string[] {
  const bytes = new TextEncoder().encode(value);
  // A binding with half a character cannot be encoded as it is.
  const inUrl = encodeURIComponent(new TextDecoder().decode(bytes));
  const inJson = escapeForJson(value);
  // Without padding, because some encoders leave it out.
  const base64 = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join('')).replace(
    /=+$/,
    '',
  );
  return [
    value,
    inUrl,
    inUrl.replaceAll('%20', '+'),
    inJson,
    escapeForJson(inJson),
    base64,
    base64.replaceAll('+', '-').replaceAll('/', '_'),
  ];
}

/** Returns a text as it stands between the quotes of a JSON string. */
function escapeForJson(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}
