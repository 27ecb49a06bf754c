import { rewriteText, type RewrittenText } from './rewritten-text.ts';

/** A text without disguised characters, in three forms. */
export interface TextForms {
  /**
   * The text in lower case with single blanks. Compatibility forms such as fullwidth letters and
   * look-alike letters are replaced with plain letters. Invisible characters are removed.
   */
  readonly text: string;
  /** Words only, with single blanks between them and at both ends. */
  readonly words: string;
  /**
   * Letters and digits only. Patterns use this form for scripts without blanks and for words that
   * are spelled letter by letter.
   */
  readonly letters: string;
}

/** Replaces the disguised characters of a text. Takes time linear in the length of the text. */
export function textForms(raw: string): TextForms {
  const text = fold(raw);
  const words = singleBlanks(` ${text.replace(/[^\p{L}\p{N}]{1,1000}/gu, ' ')} `);
  return { text, words, letters: words.replaceAll(' ', '') };
}

/**
 * Removes invisible characters: zero-width and format characters, fillers, variation selectors and
 * control characters. White space stays.
 */
export function withoutInvisible(text: string): string {
  return text.replace(/[\p{Default_Ignorable_Code_Point}\p{Cf}]|[^\P{Cc}\s]/gu, '');
}

function fold(raw: string): string {
  return singleBlanks(
    withoutInvisible(raw)
      // `normalize` sorts consecutive combining marks, which takes quadratic time. So at most four
      // marks in a row stay.
      .replace(/\p{M}(?<=\p{M}{5})/gu, '')
      // Arabic ligatures expand to up to 18 letters each, so a blank replaces each of them.
      .replace(/[\ufdf0-\ufdff]/g, ' ')
      .normalize('NFKC')
      .toLowerCase()
      .replace(/[\p{Script=Inherited}\p{Me}]/gu, '')
      .replace(withLatinForm, toLatin)
      // Plain blanks stay out of this pattern: replacing them takes longer than all other steps
      // together.
      .replace(/[^\S ]|\u2800/g, ' '),
  );
}

/**
 * Collapses consecutive blanks. The patterns in this file use no `+`. V8 stores a backtracking
 * point for each repetition, and runs out of space after some millions.
 */
function singleBlanks(text: string): string {
  return text.replace(/(?<= ) /g, '');
}

/** Letters of Latin, Greek and Cyrillic scripts that `toLatin` may change. */
const withLatinForm = /[\u00c0-\u024f\u0370-\u04ff\u1e00-\u1eff]/g;

/** Cyrillic and Greek letters, each followed by the Latin letter that looks like it. */
const lookAlikes = 'аaеeоoрpсcуyхxіiјjѕsԁdһhкkмmтtвbнhαaοoεeιiκkνvρpτtυuχx';

/** Returns the Latin letter that a letter looks like, or the letter without its marks. */
function toLatin(letter: string): string {
  const at = lookAlikes.indexOf(letter);
  return at >= 0 && at % 2 === 0 ? lookAlikes[at + 1]! : letter.normalize('NFD')[0]!;
}

/**
 * Characters U+E0020 to U+E007E, each the hidden form of an ASCII character. People do not see
 * them, but models may read them.
 */
const tag = /\udb40[\udc20-\udc7e]/g;

export function hasTags(text: string): boolean {
  return text.search(tag) >= 0;
}

/** Replaces each tag character with its ASCII character. */
export function withReadTags(text: string): string {
  return text.replace(tag, (char) => String.fromCharCode(char.charCodeAt(1) - 0xdc00));
}

/** Returns the text that the tag characters spell. */
export function tagsOnly(text: string): string {
  return withReadTags(text.match(tag)?.join('') ?? '');
}

/** A text without its disguises, with the position of each character in the original text. */
export interface UndisguisedText extends RewrittenText {
  /** The same text with the letters as they were written, as long as `text`. */
  readonly written: string;
}

/**
 * Removes disguises as `injectionGuard()` does, character by character: invisible characters,
 * marks, compatibility forms, special blanks and look-alike letters. Digits of all scripts become
 * ASCII digits, and dashes become hyphens. `readsTags` reads tag characters as ASCII instead of
 * removing them. In the new text, look-alike letters are Latin and have no marks.
 */
export function withoutDisguise(raw: string, readsTags = false): UndisguisedText {
  const plainForms = new Map<string, string>();
  const rewritten = rewriteText(raw, unusual, (char) => {
    const plain = plainForms.get(char) ?? plainForm(readsTags ? withReadTags(char) : char);
    plainForms.set(char, plain);
    return plain;
  });
  const { text: written } = rewritten;
  return { ...rewritten, written, text: written.replace(withLatinForm, latinForm) };
}

/** Characters that may change. Usual letters of Latin, Korean, Chinese and Japanese do not. */
const unusual = /[^ -~\uac00-\ud7a3\u4e00-\u9fff\u3041-\u3096\u30a1-\u30fa]/gu;

/** Returns whether a character is invisible or a mark on the character before it. */
export function isUnseen(char: string): boolean {
  return unseen.test(char);
}

const unseen =
  /^(?:[\p{Default_Ignorable_Code_Point}\p{Cf}\p{Script=Inherited}\p{Me}]|[^\P{Cc}\s])$/u;

function plainForm(char: string): string {
  if (/[\t-\r]/.test(char)) return char;
  if (unseen.test(char)) return '';
  // Arabic ligatures expand to up to 18 letters.
  if (/[\ufdf0-\ufdff]/.test(char)) return ' ';
  return [...char.normalize('NFKC')].map(plainPart).join('');
}

function plainPart(char: string): string {
  if (char <= '~') return char;
  if (unseen.test(char)) return '';
  if (/[\s\u2800]/.test(char)) return ' ';
  if (/[\p{Pd}\u2212\u2043\u30fc]/u.test(char)) return '-';
  return /\p{N}/u.test(char) ? digitOf(char) : char;
}

/** Circled digits that have no compatibility form: the code points of 1 in each row of nine. */
const circledOnes = [0x24f5, 0x2776, 0x2780, 0x278a];

/** Returns the ASCII digit of a digit in any script. Other numbers stay. */
function digitOf(char: string): string {
  const code = char.codePointAt(0)!;
  const circled = circledOnes.find((one) => code >= one && code < one + 9);
  if (circled !== undefined) return String(code - circled + 1);
  if (/[\u24ff\u{1f10b}\u{1f10c}]/u.test(char)) return '0';
  if (!/\p{Nd}/u.test(char)) return char;
  // The digits of a script stand in a row, so the row before this one tells its value.
  let offset = 0;
  while (/\p{Nd}/u.test(String.fromCodePoint(code - offset - 1))) offset += 1;
  return String(offset % 10);
}

/** Returns the look-alike of a letter in Latin. Has one code unit, like the letter. */
function latinForm(char: string): string {
  return toLatin(char.toLowerCase()[0]!);
}
