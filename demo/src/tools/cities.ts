export interface City {
  readonly zone: string;
  /**
   * Names of the city in English, Japanese, Chinese (simplified, and traditional if it differs) and
   * Korean.
   */
  readonly names: readonly string[];
}

export const cities: readonly City[] = [
  { zone: 'Asia/Tokyo', names: ['Tokyo', '東京', '东京', '도쿄'] },
  { zone: 'Asia/Tokyo', names: ['Osaka', '大阪', '오사카'] },
  { zone: 'Asia/Seoul', names: ['Seoul', 'ソウル', '首尔', '首爾', '서울'] },
  { zone: 'Asia/Shanghai', names: ['Beijing', '北京', '베이징'] },
  { zone: 'Asia/Shanghai', names: ['Shanghai', '上海', '상하이'] },
  { zone: 'Asia/Hong_Kong', names: ['Hong Kong', '香港', '홍콩'] },
  { zone: 'Asia/Taipei', names: ['Taipei', '台北', '타이베이'] },
  { zone: 'Asia/Singapore', names: ['Singapore', 'シンガポール', '新加坡', '싱가포르'] },
  { zone: 'Asia/Kolkata', names: ['Delhi', 'デリー', '德里', '델리'] },
  { zone: 'Asia/Dubai', names: ['Dubai', 'ドバイ', '迪拜', '두바이'] },
  { zone: 'Europe/Moscow', names: ['Moscow', 'モスクワ', '莫斯科', '모스크바'] },
  { zone: 'Europe/Istanbul', names: ['Istanbul', 'イスタンブール', '伊斯坦布尔', '이스탄불'] },
  { zone: 'Europe/Berlin', names: ['Berlin', 'ベルリン', '柏林', '베를린'] },
  { zone: 'Europe/Paris', names: ['Paris', 'パリ', '巴黎', '파리'] },
  { zone: 'Europe/Madrid', names: ['Madrid', 'マドリード', '马德里', '마드리드'] },
  { zone: 'Europe/London', names: ['London', 'ロンドン', '伦敦', '倫敦', '런던'] },
  { zone: 'Africa/Cairo', names: ['Cairo', 'カイロ', '开罗', '카이로'] },
  { zone: 'Africa/Nairobi', names: ['Nairobi', 'ナイロビ', '内罗毕', '나이로비'] },
  {
    zone: 'America/Sao_Paulo',
    names: ['São Paulo', 'Sao Paulo', 'サンパウロ', '圣保罗', '상파울루'],
  },
  { zone: 'America/New_York', names: ['New York', 'ニューヨーク', '纽约', '紐約', '뉴욕'] },
  { zone: 'America/Chicago', names: ['Chicago', 'シカゴ', '芝加哥', '시카고'] },
  { zone: 'America/Los_Angeles', names: ['Los Angeles', 'ロサンゼルス', '洛杉矶', '로스앤젤레스'] },
  {
    zone: 'America/Los_Angeles',
    names: ['San Francisco', 'サンフランシスコ', '旧金山', '샌프란시스코'],
  },
  { zone: 'Australia/Sydney', names: ['Sydney', 'シドニー', '悉尼', '시드니'] },
];

/**
 * Returns the names in the list that a text contains, in the order of the text. Each city appears
 * once.
 */
export function citiesIn(text: string): readonly string[] {
  const found = cities.flatMap(({ names }) => {
    const hits = names
      .map((name) => ({ name, at: text.toLowerCase().indexOf(name.toLowerCase()) }))
      .filter(({ at }) => at >= 0);
    return hits.slice(0, 1);
  });
  return found.toSorted((a, b) => a.at - b.at).map(({ name }) => name);
}

export function findCity(name: string): City | undefined {
  const wanted = name.trim().toLowerCase();
  return cities.find(({ names }) => names.some((known) => known.toLowerCase() === wanted));
}
