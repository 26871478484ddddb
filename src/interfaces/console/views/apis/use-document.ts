/** The documents of an API: the text of one, and the operations of the one that serves. */

import { useEffect, useMemo, useState } from 'preact/hooks'
import { API, CallRefused, request, toUrl, type Problem } from '../../api/client.ts'
import { record } from '../../api/script.ts'
import { useRead, type Reading } from '../../api/use-read.ts'
import { readApiDocument, type ApiDocument } from './document.ts'
import type { Proxy } from './proxy.ts'

const REVISIONS_SHOWN = '100'
const CONTENT = '/v1/openapispecs/:id/content'
const NOT_FOUND = 404

/** The deployment of an API; null in the data: it has none. For no API nothing is read. */
export function useProxy(api: string | null): Reading<{ readonly proxy: Proxy | null }> {
  const { data, ...rest } = useRead(api === null ? null : '/v1/proxies', { query: { api: api ?? '', limit: '1' } })
  return { ...rest, data: data === null ? null : { proxy: data.items[0] ?? null } }
}

export function useRevisions(proxy: string | undefined) {
  const path = proxy === undefined ? null : '/v1/proxies/:id/revisions'
  return useRead(path, { params: { id: proxy ?? '' }, query: { limit: REVISIONS_SHOWN } })
}

/** Documents do not change, so that each is read once. */
export function useText(specification: string | undefined): Reading<string> {
  const [found, setFound] = useState<{ id: string; text: string } | null>(null)
  const [failed, setFailed] = useState<{ id: string; problem: Problem } | null>(null)
  const [attempt, setAttempt] = useState(0)
  useEffect(() => {
    if (specification === undefined || found?.id === specification) return undefined
    const controller = new AbortController()
    readText(specification, controller.signal).then(
      (text) => setFound({ id: specification, text }),
      (cause: unknown) => {
        if (controller.signal.aborted) return
        if (!(cause instanceof CallRefused)) throw cause
        setFailed({ id: specification, problem: cause.problem })
      },
    )
    return () => controller.abort()
  }, [specification, attempt])
  return {
    data: found !== null && found.id === specification ? found.text : null,
    problem: failed !== null && failed.id === specification ? failed.problem : null,
    reload: () => {
      setFailed(null)
      setAttempt((number) => number + 1)
    },
  }
}

async function readText(specification: string, signal: AbortSignal): Promise<string> {
  const url = toUrl(CONTENT, { params: { id: specification } })
  record({ method: 'GET', url: url.slice(API.length), body: null })
  const response = await request(url, { signal, headers: { accept: '*/*' } })
  return response.text()
}

/** The document that serves, as consumers read it; null in the data: no revision serves. */
export function useServingDocument(api: string): Reading<{ readonly document: ApiDocument | null }> {
  const { data, problem, reload } = useRead('/v1/apis/:name/document', { params: { name: api } })
  const document = useMemo(() => (data === null ? null : readApiDocument(data)), [data])
  if (problem?.status === NOT_FOUND) return { data: { document: null }, problem: null, reload }
  return { data: document === null ? null : { document }, problem, reload }
}
