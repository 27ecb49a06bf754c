const words = `
a about all am an and any are as at be been but by can could did do does for from had has have he her him his how i if in is it
its just me my no not of on or our please she should so than that the their them then there they this to too us very was we were
what when where which who why will with would you your
的 了 是 在 我 你 您 他 她 它 们 吗 呢 吧 啊 和 与 也 都 就 有 不 没 这 那 哪 请 把 被 给 很 会 要 什么 怎么 我们 你们 他们 这个 那个 我的 你的
です ます した して いる ある する こと もの これ それ どこ なに から まで ので では には とは でも ました ません でした ください
니다 습니 입니 합니 에서 에게 으로 세요 어요 아요 해요 이다 하는 나요 까요 내가 제가 나는 저는 무엇 뭐야
`;

/**
 * Returns words that say nothing about the topic of a question. For languages without spaces
 * between words, the list has pieces of words.
 */
export function stopWords(): ReadonlySet<string> {
  return new Set(words.trim().split(/\s+/));
}
