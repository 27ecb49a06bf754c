/** Simplified characters of the docs, each before its traditional form. */
const pairs =
  '个個调調页頁对對会會话話标標结結签簽没沒时時问問复復体體运運这這执執来來环環据據间間记記续續后後里裡' +
  '态態决決进進级級构構种種给給继繼储儲换換打打务務户戶数數请請带帶还還么麼发發为為经經断斷轮輪审審' +
  '从從别別设設参參错錯传傳并並测測试試几幾应應开開档檔忆憶预預认認启啟读讀择擇写寫录錄览覽边邊缘緣' +
  '与與词詞误誤实實条條关關绝絕随隨装裝库庫点點内內异異层層样樣仅僅则則丢丟动動让讓过過钥鑰义義刷刷' +
  '统統护護钩鉤抛拋码碼闭閉总總线線值值图圖骤驟败敗马馬权權限限书書连連讯訊询詢区區号號语語选選译譯' +
  '谱譜称稱创創叠疊引引证證际際达達绑綁类類况況韩韓补補压壓缩縮简簡拟擬长長场場门門网網络絡视視频頻' +
  '终終删刪节節规規则則响響应應东東众眾专專业業划劃强強单單处處报報访訪问問戏戲权權赖賴载載转轉迁遷' +
  '验驗检檢测測队隊阶階险險离離难難顺順须須题題额額风風饰飾';

const forms: ReadonlyMap<string, string> = new Map(
  Array.from({ length: pairs.length / 2 }, (_, index) => [
    pairs[index * 2]!,
    pairs[index * 2 + 1]!,
  ]),
);

/**
 * Returns the words of a text that differ in traditional Chinese, in that form. With them, a search
 * for 記憶 finds pages that say 记忆.
 */
export function traditionalWords(text: string): readonly string[] {
  const words = new Intl.Segmenter('zh', { granularity: 'word' }).segment(text);
  const changed = [...words].flatMap(({ segment }) => {
    const traditional = [...segment].map((sign) => forms.get(sign) ?? sign).join('');
    return traditional === segment ? [] : traditional;
  });
  return [...new Set(changed)];
}
