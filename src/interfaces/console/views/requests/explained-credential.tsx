/** An explained token, and explained API keys: whose they are, and why calls with them are refused. */

import type { Changes } from '../../api/operations.ts'
import { Empty } from '../../parts/states.tsx'
import { Id, State, Time } from '../../parts/values.tsx'
import { BASE } from '../../router.ts'
import { scopes } from '../../shell/person.ts'
import { texts } from '../../texts.ts'

const words = texts.requests
const { fields } = words

type Explanation = Changes<'POST /v1/requests/explain'>
type Token = NonNullable<Explanation['token']>
type Key = Explanation['keys'][number]
type Refusal = Key['refusal']
type Holder = Pick<Key, 'consumer' | 'consumerName' | 'agent' | 'subscription' | 'api' | 'ApiProductId' | 'scopes'>

export function ExplainedToken({ of: { state, refusal, holder } }: { readonly of: Token }) {
  return (
    <section aria-label={words.tokenTitle}>
      <h2>
        {words.tokenTitle} <State of={words.tokenStates[state]} />
      </h2>
      <dl class="facts">
        <Reason of={refusal} />
        <dt>{fields.advice}</dt>
        <dd>{words.tokenAdvice[state]}</dd>
        {holder !== null && (
          <>
            <HolderFacts of={holder} />
            {holder.onBehalfOf !== '' && (
              <>
                <dt>{fields.onBehalfOf}</dt>
                <dd>
                  <Id value={holder.onBehalfOf} />
                </dd>
              </>
            )}
            <dt>{fields.expires}</dt>
            <dd>
              <Time at={holder.expiresAt} />
            </dd>
            {holder.tokenId !== '' && (
              <>
                <dt>{fields.tokenId}</dt>
                <dd>
                  <Id value={holder.tokenId} />
                </dd>
              </>
            )}
          </>
        )}
      </dl>
    </section>
  )
}

interface KeysProps {
  readonly keys: readonly Key[]
  readonly start: string
}

export function ExplainedKeys({ keys, start }: KeysProps) {
  if (keys.length === 0) return <Empty text={words.noKeys} />
  return (
    <section aria-label={words.keyTitle(start)}>
      <h2>{words.keyTitle(start)}</h2>
      <p class="quiet">{words.keyHint}</p>
      {keys.map((key) => (
        <article key={key.id} class="card">
          <dl class="facts">
            <dt>{fields.key}</dt>
            <dd>
              <code>{key.keyPrefix}…</code> <State of={texts.credentials.states[key.state]} />
            </dd>
            <Reason of={key.refusal} />
            <HolderFacts of={key} />
            <dt>{fields.expires}</dt>
            <dd>
              <Time at={key.expiresAt} />
            </dd>
          </dl>
        </article>
      ))}
    </section>
  )
}

function Reason({ of }: { readonly of: Refusal }) {
  return (
    <>
      <dt>{fields.reason}</dt>
      <dd>
        {of === null ? (
          words.admitted
        ) : (
          <>
            <bdi>{of.detail}</bdi> <code>{of.code}</code>
          </>
        )}
      </dd>
    </>
  )
}

function HolderFacts({ of }: { readonly of: Holder }) {
  const { consumer, consumerName, agent, subscription, api, ApiProductId } = of
  return (
    <>
      <dt>{agent === '' ? fields.consumer : fields.agent}</dt>
      <dd>
        {scopes.value.has('consumers:read') ? (
          <a href={`${BASE}consumers/${encodeURIComponent(consumer)}`}>
            <bdi>{consumerName === '' ? consumer : consumerName}</bdi>
          </a>
        ) : (
          <bdi>{consumerName}</bdi>
        )}
      </dd>
      <dt>{fields.subscription}</dt>
      <dd>
        <a href={`${BASE}subscriptions/${encodeURIComponent(subscription)}/credentials`}>{subscription}</a>
      </dd>
      <dt>{fields.api}</dt>
      <dd>
        <bdi>{api ?? ApiProductId}</bdi>
      </dd>
      <dt>{fields.scopes}</dt>
      <dd>
        <bdi>{of.scopes.length === 0 ? texts.subscriptions.noScopes : of.scopes.join(' ')}</bdi>
      </dd>
    </>
  )
}
