import { checkNoOptions } from '@isoloop/core/options';
import type { InjectionPattern } from './injection-guard.ts';

/**
 * Returns the patterns by which `injectionGuard()` finds prompt injection. They find texts that
 * override instructions, turn off the model's rules, ask for its prompt, or fake markup. All counts
 * in the patterns are bounded, so a search takes time linear in the length of the text.
 */
export function injectionPatterns(): readonly InjectionPattern[];
export function injectionPatterns(...args: readonly unknown[]): readonly InjectionPattern[] {
  checkNoOptions(
    'injectionPatterns()',
    args,
    'Pass a list of your own to injectionGuard({ patterns }).',
  );
  return [...english(), ...chinese(), ...japanese(), ...korean(), ...markup()];
}

/**
 * Matches up to two words between two parts of a pattern. The length of a word is bounded, so an
 * attempt to match costs the same at every position.
 */
const gap = '(?: [\\p{L}\\p{N}]{1,20}){0,2}?';

function english(): readonly InjectionPattern[] {
  const forget = '(?:ignore|disregard|forget)';
  const disobey =
    '(?:ignore|disregard|forget|override|overrule|bypass|circumvent|neglect|dismiss|discard|abandon|unlearn|(?:do not|don t|dont|stop|no longer|never) (?:follow|obey|following|obeying|adhere to))';
  const undo = '(?:disable|deactivate|(?:turn|switch) off|get around|remove|lift)';
  const previous =
    '(?:previous|prior|above|earlier|preceding|foregoing|initial|original|hidden|safety|your|developer|openai|anthropic)';
  const orders =
    '(?:instructions?|prompts?|rules?|directions|directives?|guidelines?|guardrails?|constraints?|restrictions?|limitations|policies|programming|training|orders|commands|safeguards|censorship|moderation|filters?)';
  const freely =
    '(?:no|without|zero|free (?:of|from))(?: any| all| your| the)?(?: ethical| moral| safety| content| such| kind of){0,2}';
  const bounds =
    '(?:rules|restrictions?|filters?|filtering|limits|limitations|guidelines|guardrails|ethics|morals|censorship)';
  const tell =
    '(?:reveal|show|print|repeat|output|display|tell|give|leak|expose|disclose|dump|share|recite|paste|return|translate|summari[sz]e|encode|write|copy|spell)';
  const words = '(?:prompts?|instructions?|message|rules|directives?|guidelines|configuration)';
  const secret =
    '(?:system|initial|original|hidden|secret|internal|confidential|developer|starting|base|core|pre)';
  return patternsIn('words', [
    ` ${disobey}${gap} ${previous}${gap} ${orders} `,
    ` ${undo}${gap} your${gap} ${orders} `,
    ` ${disobey} (?:the|all|any) ${orders} (?:that )?(?:the |your )?(?:developers?|creators?|openai|anthropic|makers) (?:gave|set|told)`,
    ` ${disobey}(?: all| any){0,2}(?: of)? (?:the|these|those|system) (?:system )?(?:instructions|prompts?|directives) `,
    ` ${forget} all (?:rules|instructions|prompts|directives|guidelines|restrictions) (?:and|now|from|you) `,
    ` ${forget} (?:about )?(?:everything|anything|all|whatever) (?:that )?(?:(?:you|i) (?:were|was|have|ve|are) (?:been )?(?:told|taught|said|given|instructed)|above (?:and|this|here|now|instead)|before this|i (?:said|told you)|(?:came|comes|said|stated|written) (?:before|above|earlier))`,
    ` you are (?:now|no longer)${gap}${gap} (?:dan|unrestricted|unfiltered|uncensored|jailbroken|amoral|evil) `,
    ` you are no longer (?:an? )?(?:ai|assistant|chatgpt|claude|gemini|bound|restricted|limited by|subject to|required to) `,
    ` you (?:are(?: now)?|re now)${gap} (?:developer|debug|admin|god|root|dan|jailbreak|sudo) mode `,
    ` (?:enable|activate|enter|switch to|turn on|go into|unlock|engage)${gap} (?:dan|jailbreak|jailbroken|unrestricted|unfiltered|uncensored) mode `,
    ` (?:act|behave|respond|answer|pretend|roleplay|role play|operate|reply|imagine you)${gap}${gap} ${freely} ${bounds} `,
    ` you (?:have|had|are|ve got|must answer|can answer|will answer|will respond|now have)${gap} ${freely} ${bounds} `,
    ` (?:ai|assistant|model|chatbot|bot) (?:with|that has|who has|which has) no ${bounds} `,
    ` do anything now `,
    ` you (?:will|must|can|should|are to|shall) never (?:refuse|decline|say no) `,
    ` ${tell}${gap}${gap} your(?: \\w{1,20})? ${secret}${gap} ${words} `,
    ` ${tell}${gap}${gap} your(?: full| entire| exact| complete| whole)? prompt `,
    ` what (?:is|are|was|were|s)(?: exactly)? your ${secret}(?: \\w{1,20})? ${words} `,
    ` (?:reveal|print|repeat|output|leak|expose|disclose|dump|recite|paste)(?: me| us| out| the| full| entire| exact| complete| whole){0,4} ${secret} (?:prompt|instructions) `,
    ` (?:prompt|instructions?|message|rules|text|words) (?:that )?you (?:were|have been|ve been) (?:given|told|provided|initiali[sz]ed|configured|started) `,
    ` (?:repeat|print|output|copy|echo|recite|write)${gap}${gap} (?:above|before this|preceding)${gap} (?:starting|beginning|verbatim|word for word|in a code block|exactly) `,
    ` (?:starting|beginning|begins|starts) with (?:the (?:phrase|words?) )?you are `,
    ` ${secret} prompt (?:verbatim|word for word|in full|as is) `,
    ` ${tell}${gap}${gap} your (?:api key|password|credentials|secret key|access token|environment variables)(?! (?:polic|requirement|length|rule|manager|field)) `,
    ` (?:new|updated|revised|real|actual|true) (?:system )?(?:instructions?|directives?|orders) (?:from|by|for) (?:the |your )?(?:admin\\w{0,9}|developers?|system|openai|anthropic|owner|creator|you) `,
    ` (?:system|admin|developer|security) override (?:code|activated|engaged|enabled|accepted|you|ignore|all|mode) `,
    ` (?:decode|decrypt|deobfuscate|unscramble)${gap}${gap}${gap} (?:and|then|and then) (?:execute|follow|obey|carry out|comply with|do) (?:it|them|that|the|what|whatever) `,
    ` (?:send|forward|post|upload|exfiltrate|transmit|email|append)${gap} (?:conversation|chat history|chat log|system prompt|previous messages)${gap} (?:to|at) (?:http|https|www|this url|the following|my server) `,
  ]).concat(
    patternsIn('letters', [
      `${forget}(?:all|any|my|your|the|of|these|those){0,4}(?:previous|prior|above|earlier|preceding)(?:system)?(?:instructions|prompts|rules|directives|guidelines)`,
      '(?:reveal|print|leak|repeat|output)(?:me|the|your){0,2}(?:system|hidden|secret)(?:prompt|instructions)',
    ]),
  );
}

function chinese(): readonly InjectionPattern[] {
  const disobey =
    '(?:忽略|无视|無視|忽視|忽视|忘记|忘記|忘掉|不要遵守|不要遵循|不再遵守|不要理会|不用管|别管|別管|抛开|拋開|抛弃|绕过|繞過|推翻|解除|违反)';
  const orders =
    '(?:指令|指示|提示词|提示詞|规则|規則|设定|設定|限制|约束|約束|命令|准则|準則|系统提示|系統提示)';
  return patternsIn('letters', [
    `${disobey}.{0,8}?(?:之前|以前|前面|先前|上面|以上|上述|此前|你的|您的|对你|對你|系统的|系統的|原来|原有|原本|既定|安全).{0,6}?${orders}`,
    `${disobey}(?:掉|了|你|我){0,2}(?:所有|一切|全部|任何)的?(?:指令|指示|提示词|提示詞|限制|约束|約束|命令)`,
    `(?:你现在是|你現在是|从现在起你|從現在起你|从现在开始你|從現在開始你|扮演|假装|假裝|模拟|想象你).{0,20}?(?:没有|不受|沒有|毫无|毫無|不再受|摆脱|擺脫)(?:了)?(?:任何|一切|所有)?.{0,6}?(?:限制|约束|約束|规则|規則|道德|审查|審查|过滤|過濾|束缚)`,
    `(?:进入|進入|开启|開啟|启动|啟動|启用|切换到|切換到|激活).{0,4}?(?:越狱|越獄|无限制|無限制|dan)模式`,
    `你(?:现在|現在|已|已经|已經){0,2}(?:处于|處於|进入|進入)(?:了)?.{0,4}?(?:开发者|開發者|调试|管理员|越狱|越獄)模式`,
    `(?:输出|显示|告诉我|给我看|打印|重复|复述|透露|泄露|公开|展示|说出|列出|翻译|写出|把|将|輸出|顯示|告訴我|洩漏|洩露|重複|將).{0,10}?(?:你的|您的|你被|你收到的|你最初).{0,6}?(?:系统提示|系統提示|提示词|提示詞|系统指令|系統指令|初始指令|初始设定|系统设定|系統設定|隐藏指令|隱藏指令|内部指令|內部指令|原始指令|内部规则|內部規則|prompt)`,
    `(?:你|您)的(?:系统|系統|初始|原始|隐藏|隱藏|内部|內部)(?:提示词?|提示詞|指令|设定|prompt)(?:到底|究竟)?(?:是什么|是什麼|有哪些|内容)`,
    `(?:逐字|一字不差|一字不漏|原样|原樣|原封不动|原封不動).{0,8}?(?:以上|上面|系统|系統|之前|提示词|提示詞).{0,6}?(?:指令|提示|文字|内容|內容|对话|對話)`,
    `(?:以上|上面|之前)(?:的)?(?:指令|指示|规则|規則|提示词)(?:全部|都|已经|已){0,2}(?:作废|作廢|无效|無效|取消)`,
  ]);
}

function japanese(): readonly InjectionPattern[] {
  const softly =
    '(?:など|等)?(?:には|を|は|も|に)?(?:すべて|全て|全部|一旦|一度|完全に|今すぐ|ここで|いったん)?';
  const drop =
    '(?:無視|忘れて|忘れろ|忘れなさい|破棄|従わない|従わず|従うな|従う必要は|守らな|上書き|取り消)';
  const orders = '(?:指示|命令|ルール|プロンプト|制約|制限|ガイドライン|規則|指令|設定)';
  return patternsIn('letters', [
    `(?:これまで|今まで|ここまで|以前|前述|上記|以上|先ほど|さっき|最初|元々|もともと|あなた|君|システム|開発者|安全).{0,8}?${orders}${softly}${drop}`,
    `(?:すべて|全て|全部|あらゆる)の?(?:指示|命令|プロンプト|制約|制限|指令)${softly}(?:${drop}|無効|解除)`,
    `(?:あなた|君|お前|システム).{0,4}?(?:制約|制限|ガイドライン|安全フィルター|フィルター)${softly}(?:無効|解除|外して|オフに)`,
    `(?:制限|制約|ルール|規則|検閲|フィルター|倫理|道徳)(?:の|が|を|に){0,1}(?:一切|全く|まったく)?(?:ない|無い|なし|受けない|持たない|縛られない|とらわれない).{0,10}?(?:ai|アシスタント|モデル|存在|キャラ|人工知能).{0,8}?(?:として|になり|になっ|のふり|演じ|です|だ)`,
    `(?:脱獄|無制限|ジェイルブレイク|dan|開発者)モード(?:に入|に切り|で回答|で答え|で動作|になって|として振る舞)`,
    `(?:システム|初期|内部|隠し|隠された|元の|最初の|秘密の|あなたの|君の)(?:の)?プロンプト(?:文|全文)?(?:の全文|の内容|の中身)?(?:を|は)(?:そのまま|すべて|全て|全部|一字一句|私に|全文|ここに|正確に|今すぐ|日本語で|コードブロックで|違わず){0,3}(?:表示|出力|教え|見せ|開示|暴露|公開|繰り返|漏ら|書き出|明かし|何)`,
    `(?:内部|隠し|隠された|秘密の|あなたへの|あなたに与えられた|与えられている|最初に与えられた|システム)(?:の)?(?:システム)?(?:指示|命令|指令)(?:文|内容)?(?:の全文|の内容)?(?:を|は)(?:そのまま|すべて|全て|全部|一字一句|私に|ここに|正確に|違わず){0,3}(?:表示|出力|教え|見せ|開示|公開|繰り返|書き出|明かし)`,
    `(?:この|上)(?:より上|の行より上|までの)?(?:の)?(?:文章|テキスト|内容)を(?:一字一句|そのまま)(?:違わず|正確に)?(?:繰り返|出力|表示)`,
  ]);
}

function korean(): readonly InjectionPattern[] {
  const object =
    '(?:사항|문|들|어|말|내용){0,2}(?:을|를|은|는|도)?(?:모두|전부|다|완전히|그냥|싹|이제){0,2}';
  const drop = '(?:무시|잊어|잊고|잊으|무효|따르지|버려|버리고|어겨|지키지|덮어)';
  const outright =
    '(?:그대로|전부|모두|전체|다|나에게|나한테|내게|정확히|한글자도|빠짐없이|지금|여기에|먼저|좀){0,4}';
  const tell = '(?:출력|보여|알려|공개|말해|반복|노출|드러내|적어|써줘|써주|유출|털어)';
  return patternsIn('letters', [
    `(?:이전|앞선|앞의|앞서|위의|위에|지금까지|여태까지|너의|네가받은|당신의|시스템|상기|개발자).{0,8}?(?:지시|명령|프롬프트|규칙|지침|제한|가이드라인|제약)${object}${drop}`,
    `(?:모든|기존의?|원래의?)(?:안전|시스템|운영)?(?:지시|명령|프롬프트|지침|제약|제한)${object}${drop}`,
    `(?:너의|네|니|당신의|안전)(?:모든|안전){0,2}(?:필터|제한|제약|안전장치|검열|가이드라인)(?:을|를)?(?:모두|전부|다)?(?:해제|꺼|끄|비활성|우회|제거)`,
    `(?:제한|제약|규칙|검열|필터|윤리)(?:이|가|도|을|를)?(?:전혀|아무|일절)?(?:없는|받지않는|없이|적용되지않는|무시하는).{0,8}?(?:ai|인공지능|어시스턴트|모델|비서|챗봇|존재|캐릭터).{0,6}?(?:처럼|로행동|인척|역할|가되|이?야|이다|입니다|라고가정|로답|로대답|로서)`,
    `(?:탈옥|무제한|jailbreak|dan)모드(?:로|를|가|에)?(?:전환|들어|활성|켜|진입|시작)`,
    `(?:너는|넌|당신은)(?:이제|지금)?(?:부터)?(?:개발자|관리자|디버그|dan)모드`,
    `(?:시스템|초기|내부|숨겨진|숨은|비밀|원본|너의|네|당신의|니)(?:시스템|초기|내부|숨겨진)?(?:프롬프트|지시문|지시사항|지침|명령어)(?:전체|전문|내용|원문)?(?:의내용|의전문)?(?:을|를|은|는)?${outright}${tell}`,
    `(?:너의|네|당신의|니)(?:시스템|초기|내부|숨겨진|원래|비밀)(?:프롬프트|지시문|지시사항|지침|명령)(?:이|가|은|는)?(?:뭐|무엇|어떻게되)`,
    `(?:위의|앞의|이전)(?:모든)?(?:내용|문장|텍스트|대화|지시)(?:을|를)?(?:토씨하나|한글자도|글자그대로|그대로)(?:안|틀리지않고|빠짐없이|빠뜨리지않고|바꾸지말고)?(?:출력|반복|적어|써)`,
  ]);
}

/**
 * Returns the patterns of faked conversation turns and chat markup. A user's text has no reason to
 * contain them.
 */
function markup(): readonly InjectionPattern[] {
  const order =
    '(?:ignore|disregard|override|forget|new instructions?|you are now|reveal|you must now|忽略|무시|無視)';
  return patternsIn('text', [
    '<\\|(?:im_start|start_header_id|system)\\|> ?(?:system|you are|ignore)',
    '<\\|(?:im_end|eot_id|endoftext)\\|> ?<\\|(?:im_start|start_header_id)\\|>',
    '<<sys>> ?(?:you|ignore|new|from)',
    `(?:system|developer|admin(?:istrator)?|assistant) ?\\]? ?: ?${order}`,
    `#{2,4} ?(?:new |updated )?(?:system|instructions?|prompt) ?:? ?${order}`,
    `</? ?(?:user|system|assistant|instructions?|context|document|documents|tool_result|data|input)> ?.{0,40}?${order}`,
    `(?:end of|begin|start of|---) ?(?:system |user |new )?(?:prompt|instructions?|input|document)[^\\p{L}]{0,8}${order}`,
  ]);
}

function patternsIn(form: InjectionPattern['in'], sources: readonly string[]): InjectionPattern[] {
  return sources.map((source) => ({ in: form, pattern: new RegExp(source, 'u') }));
}
