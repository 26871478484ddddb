/** The documents of an API: the text of one, and the operations of the one that serves. */

import { useEffect, useState } from 'preact/hooks'
import { API, CallRefused, request, toUrl, type Problem } from '../../api/client.ts'
import type { Item } from '../../api/operations.ts'
import { record } from '../../api/script.ts'
import { useRead, type Reading } from '../../api/use-read.ts'
import { readApiDocument, type ApiDocument } from './document.ts'

export type Proxy = Item<'/v1/proxies'>

const REVISIONS_SHOWN = '100'
const CONTENT = '/v1/openapispecs/:id/content'

/** The deployment of an API; null in the data: it has none. */
export function useProxy(api: string): Reading<{ readonly proxy: Proxy | null }> {
  const { data, ...rest } = useRead('/v1/proxies', { query: { api, limit: '1' } })
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

/** The document that serves; null in the data: no revision serves. */
export function useServingDocument(api: string): Reading<{ readonly document: ApiDocument | null }> {
  const deployed = useProxy(api)
  const proxy = deployed.data?.proxy
  const revisions = useRevisions(proxy?.id)
  const active = revisions.data?.items.find(({ revision }) => revision === proxy?.activeRevision)
  const text = useText(active?.specification)
  const [document, setDocument] = useState<{ of: string; document: ApiDocument } | null>(null)
  useEffect(() => {
    if (text.data !== null) void parse(text.data).then((parsed) => setDocument({ of: text.data!, document: parsed }))
  }, [text.data])
  const reload = (): void => {
    for (const each of [deployed, revisions, text]) each.reload()
  }
  const problem = deployed.problem ?? revisions.problem ?? text.problem
  const isWithout = proxy === null || (revisions.data !== null && active === undefined)
  if (isWithout) return { data: { document: null }, problem, reload }
  const isRead = document !== null && document.of === text.data
  return { data: isRead ? { document: document.document } : null, problem, reload }
}

/** The parser of YAML is loaded for documents that are not JSON. The service has checked that they are one of them. */
async function parse(text: string): Promise<ApiDocument> {
  try {
    return readApiDocument(JSON.parse(text))
  } catch {
    const { parse: parseYaml } = await import('yaml')
    return readApiDocument(parseYaml(text, { logLevel: 'silent' }))
  }
}
