/** Parses the responses that a client receives, strictly. */

export interface Answer {
  readonly status: number
  /** The lines of the head, without the date. */
  readonly lines: readonly string[]
  readonly framing: 'none' | 'length' | 'chunks' | 'close'
  readonly body: string
}

export interface Answers {
  /** Responses in full. */
  readonly answers: readonly Answer[]
  /** Bytes behind them, which are the start of another one. */
  readonly rest: string
}

/** `requests` are those that are answered, in turn. */
export function parseAnswers(text: string, requests: readonly { readonly method: string }[]): Answers {
  const answers: Answer[] = []
  let rest = text
  let finals = 0
  while (rest !== '') {
    const parsed = parseAnswer(rest, requests[finals]?.method === 'HEAD')
    if (parsed === null) break
    answers.push(parsed.answer)
    rest = rest.slice(parsed.length)
    if (parsed.answer.status >= 200) finals++
  }
  return { answers, rest }
}

function parseAnswer(text: string, isHead: boolean): { readonly answer: Answer; readonly length: number } | null {
  const headEnd = text.indexOf('\r\n\r\n') + 4
  if (headEnd < 4) return null
  const [statusLine = '', ...all] = text.slice(0, headEnd - 4).split('\r\n')
  const status = Number(/^HTTP\/1\.1 (\d{3}) [\w -]+$/.exec(statusLine)?.[1])
  if (Number.isNaN(status)) throw new Error(`no status line: ${JSON.stringify(text.slice(0, 200))}`)
  const lines = all.filter((line) => !/^date: /i.test(line))
  const valueOf = (name: string): string | undefined =>
    lines.find((line) => line.toLowerCase().startsWith(`${name}: `))?.slice(name.length + 2)
  const answer = (framing: Answer['framing'], body: string, length: number) => ({
    answer: { status, lines, framing, body },
    length: headEnd + length,
  })

  if (isHead || status < 200 || status === 204 || status === 304) return answer('none', '', 0)
  const rest = text.slice(headEnd)
  const size = valueOf('content-length')
  if (size !== undefined) {
    return rest.length < Number(size) ? null : answer('length', rest.slice(0, Number(size)), Number(size))
  }
  if (valueOf('transfer-encoding') !== 'chunked') return answer('close', rest, rest.length)
  const chunks = parseChunks(rest)
  return chunks === null ? null : answer('chunks', chunks.body, chunks.length)
}

function parseChunks(text: string): { readonly body: string; readonly length: number } | null {
  let body = ''
  let at = 0
  for (;;) {
    const lineEnd = text.indexOf('\r\n', at)
    if (lineEnd < 0) return null
    const size = Number.parseInt(text.slice(at, lineEnd), 16)
    if (Number.isNaN(size)) throw new Error(`no chunk size: ${JSON.stringify(text.slice(at, at + 100))}`)
    const chunkEnd = lineEnd + 2 + size
    if (text.length < chunkEnd + 2) return null
    if (text.slice(chunkEnd, chunkEnd + 2) !== '\r\n') throw new Error('a chunk is longer than its size')
    body += text.slice(lineEnd + 2, chunkEnd)
    at = chunkEnd + 2
    if (size === 0) return { body, length: at }
  }
}
