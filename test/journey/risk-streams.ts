/** Readers of the risk streams of several nodes. */

import { EventSource, type FetchLike } from 'eventsource'
import type { Service } from './service.ts'

export interface StreamedRisk {
  readonly id: string
  readonly riskId: string
  readonly phase: string
  readonly type: string
  readonly severity: string
  readonly count: number
  readonly attributedTo: { readonly id: string }
}

export interface RiskReader {
  readonly risks: readonly StreamedRisk[]
  close(): void
}

/** Opens the stream of a node; resolves when it is open, and rejects if it is refused. */
export async function readRisks({ baseUrl, platform }: Service, lastEventId?: string): Promise<RiskReader> {
  const risks: StreamedRisk[] = []
  const token = await platform.token()
  const fetchWithToken: FetchLike = (address, init) =>
    fetch(address, {
      ...init,
      headers: {
        ...(lastEventId !== undefined && { 'last-event-id': lastEventId }),
        ...init.headers,
        authorization: `Bearer ${token}`,
      },
    })
  const source = new EventSource(`${baseUrl}/v1/events/subscribe`, { fetch: fetchWithToken })
  source.addEventListener('risk', ({ data }) => risks.push(JSON.parse(data as string) as StreamedRisk))
  await new Promise((resolve, reject) => {
    source.addEventListener('open', resolve, { once: true })
    source.addEventListener('error', ({ code, message }) => {
      if (source.readyState === source.CLOSED) reject(new Error(`the stream was refused: ${code} ${message}`))
    })
  })
  return { risks, close: () => source.close() }
}
