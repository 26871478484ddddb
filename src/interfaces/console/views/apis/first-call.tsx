/** The line for a first call with curl. */

import { useRead } from '../../api/use-read.ts'
import { BASE } from '../../router.ts'
import { texts } from '../../texts.ts'
import type { ApiDocument } from './document.ts'
import { initialValues } from './try-values.ts'
import { toCurl, toTryCall } from './try-call.ts'
import { useServingDocument } from './use-document.ts'

const words = texts.apis.firstCall

/** Any operation: the document is not read, which can be large. */
export function FirstCall({ api }: { readonly api: string }) {
  const { data } = useRead('/.well-known/tollgate')
  return data === null ? null : <Line api={api} line={`curl -H 'x-api-key: KEY' '${data.gatewayUrl}/${api}/…'`} />
}

/** An operation of the document, with the values of its examples. */
export function FirstOperation({ api }: { readonly api: string }) {
  const { data } = useRead('/.well-known/tollgate')
  const document = useServingDocument(api).data?.document ?? null
  const line = data === null || document === null ? null : lineOf(api, document, data.gatewayUrl)
  return line === null ? null : <Line api={api} line={line} />
}

function Line({ api, line }: { readonly api: string; readonly line: string }) {
  return (
    <section aria-labelledby="first-call">
      <h2 id="first-call">{words.title}</h2>
      <p>{words.lead}</p>
      <pre tabIndex={0}>{line}</pre>
      <p>
        <a href={`${BASE}apis/${encodeURIComponent(api)}/try`}>{words.tryIt}</a>
      </p>
    </section>
  )
}

/** Preferably one that changes nothing and needs no value. */
function lineOf(api: string, { operations, resolve }: ApiDocument, gatewayUrl: string): string | null {
  const reads = operations.filter(({ method }) => method === 'GET')
  const [operation] = [...reads.filter(({ path }) => !path.includes('{')), ...reads, ...operations]
  if (operation === undefined) return null
  return toCurl(toTryCall(api, operation, initialValues(operation, resolve)), gatewayUrl, 'x-api-key: KEY')
}
