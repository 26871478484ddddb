/** The answer to a call that was tried: as text, whatever it contains. */

import { useRead } from '../../api/use-read.ts'
import { toNumber } from '../../parts/values.tsx'
import { BASE } from '../../router.ts'
import { may } from '../../shell/person.ts'
import { texts } from '../../texts.ts'
import type { TryAnswer } from './send-try.ts'
import { toCurl, type TryCall } from './try-call.ts'

const words = texts.apis.tryIt

interface AnswerProps {
  readonly answer: Extract<TryAnswer, { readonly kind: 'answer' }>
  readonly call: TryCall
}

export function Answer({ answer, call }: AnswerProps) {
  const { status, durationMs, headers, body, bodyBytes, isTruncated, requestId } = answer
  const service = useRead('/.well-known/tollgate')
  return (
    <section class="answer" aria-label={words.answer} aria-live="polite">
      <h3>
        {words.status(status)} · {words.duration(toNumber(durationMs))} · {words.size(toNumber(bodyBytes))}
      </h3>
      {requestId !== null && (
        <p>
          {texts.states.request} <code>{requestId}</code>{' '}
          {may('requests:read') && <a href={`${BASE}requests/${encodeURIComponent(requestId)}`}>{words.explain}</a>}
        </p>
      )}
      {isTruncated && <p class="notice">{words.truncated(toNumber(bodyBytes))}</p>}
      {body === null ? (
        <p class="notice">{words.binary}</p>
      ) : (
        <pre class="tall" tabIndex={0} aria-label={words.answerBody}>
          {body === '' ? words.emptyBody : toReadable(body)}
        </pre>
      )}
      <details>
        <summary>{words.headers(headers.length)}</summary>
        <pre tabIndex={0}>{headers.map(([name, value]) => `${name}: ${value}`).join('\n')}</pre>
      </details>
      {service.data !== null && (
        <details>
          <summary>{words.asCurl}</summary>
          <pre tabIndex={0}>{toCurl(call, service.data.gatewayUrl)}</pre>
        </details>
      )}
    </section>
  )
}

/** JSON without line breaks gets some, unless that would change its numbers; other texts stay as they are. */
function toReadable(body: string): string {
  try {
    const parsed: unknown = JSON.parse(body)
    return JSON.stringify(parsed) === body ? JSON.stringify(parsed, null, 2) : body
  } catch {
    return body
  }
}
