/**
 * Saves everything that a filter selects as CSV, page by page from the API.
 *
 * A link would not do: the service answers only requests with the header of the console. The pages become parts of a blob, which the
 * browser keeps outside the memory of the page; the number of rows is limited, and above it the command line is the way.
 */

import { useEffect, useRef, useState } from 'preact/hooks'
import { CallRefused, request, toUrl, type Problem } from '../api/client.ts'
import { texts } from '../texts.ts'
import { Refusal } from './dialog.tsx'
import { saveBlob } from './download.ts'
import { toNumber } from './values.tsx'

interface ExportProps {
  readonly path: '/v1' | '/v1/summaries' | '/v1/statements'
  readonly query: Readonly<Record<string, string>>
  /** Name of the file. */
  readonly name: string
}

const words = texts.export
const PAGE_ROWS = 500
/** About 40 MB. */
const ROWS_MAX = 200_000
/** Pages that become one part of the blob. */
const PART_PAGES = 20

export function ExportButton({ path, query, name }: ExportProps) {
  const [rows, setRows] = useState<number | null>(null)
  const [isCut, setCut] = useState(false)
  const [problem, setProblem] = useState<Problem | null>(null)
  const running = useRef<AbortController | null>(null)
  useEffect(() => () => running.current?.abort(), [])

  const start = async (): Promise<void> => {
    const controller = new AbortController()
    running.current = controller
    setProblem(null)
    setCut(false)
    setRows(0)
    try {
      const { blob, isWhole } = await collect(path, query, setRows, controller.signal)
      setCut(!isWhole)
      saveBlob(name, blob)
    } catch (cause) {
      if (controller.signal.aborted) return
      if (!(cause instanceof CallRefused)) throw cause
      setProblem(cause.problem)
    } finally {
      setRows(null)
    }
  }
  const cancel = (): void => {
    running.current?.abort()
    setRows(null)
  }

  return (
    <span class="action">
      {rows === null ? (
        <button type="button" onClick={() => void start()}>
          {words.button}
        </button>
      ) : (
        <button type="button" onClick={cancel}>
          {words.cancel(toNumber(rows))}
        </button>
      )}
      {isCut && (
        <p class="notice" role="alert">
          {words.cut(toNumber(ROWS_MAX))}
        </p>
      )}
      {problem !== null && <Refusal problem={problem} />}
    </span>
  )
}

async function collect(
  path: ExportProps['path'],
  query: ExportProps['query'],
  onRows: (rows: number) => void,
  signal: AbortSignal,
): Promise<{ readonly blob: Blob; readonly isWhole: boolean }> {
  const parts: Blob[] = []
  let pages: string[] = []
  let rows = 0
  const isPaged = path !== '/v1/statements'
  for (let cursor: string | null = ''; cursor !== null;) {
    const paged = isPaged ? { limit: String(PAGE_ROWS), cursor } : {}
    const url = toUrl(path, { query: { ...query, ...paged } })
    const response = await request(url, { headers: { accept: 'text/csv' }, signal })
    const text = await response.text()
    pages.push(cursor === '' ? text : text.slice(text.indexOf('\n') + 1))
    rows += isPaged ? PAGE_ROWS : 0
    cursor = nextOf(response)
    onRows(rows)
    if (pages.length === PART_PAGES || cursor === null || rows >= ROWS_MAX) {
      parts.push(new Blob(pages))
      pages = []
    }
    if (rows >= ROWS_MAX && cursor !== null) return { blob: toBlob(parts), isWhole: false }
  }
  return { blob: toBlob(parts), isWhole: true }
}

function toBlob(parts: readonly Blob[]): Blob {
  return new Blob([...parts], { type: 'text/csv;charset=utf-8' })
}

/** Returns the cursor of the next page. Nothing else of the address counts. */
function nextOf({ headers }: Response): string | null {
  const [, query = ''] = /^<[^>?]*\?([^>]*)>; rel="next"$/.exec(headers.get('link') ?? '') ?? []
  return new URLSearchParams(query).get('cursor')
}
