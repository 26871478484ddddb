/** Secrets of credentials, with a button that copies each. */

import type { Item } from '../../api/operations.ts'
import { useCopy } from '../../parts/use-copy.ts'
import { texts } from '../../texts.ts'

type Credential = Item<'/v1/subscriptions/:id/credentials'>

const words = texts.credentials

interface SecretsProps {
  readonly of: readonly Credential[]
  readonly onHide: () => void
}

export function Secrets({ of, onHide }: SecretsProps) {
  const secrets = of.flatMap(({ id, clientId, clientSecret, apiKey, state }) => [
    ...(clientSecret === null ? [] : [{ id, label: words.secretOf(clientId ?? id), value: clientSecret, state }]),
    ...(apiKey === null ? [] : [{ id, label: words.apiKey, value: apiKey, state }]),
  ])
  return (
    <section class="secrets" aria-label={words.secrets}>
      <p role="status">{secrets.length === 0 ? words.noSecrets : words.keepSafe}</p>
      <dl class="facts">
        {secrets.map(({ id, label, value, state }) => (
          <div key={id} class="contents">
            <dt>
              {label} <span class="quiet">{words.states[state]}</span>
            </dt>
            <dd class="secret">
              <code>{value}</code>
              <Copy label={words.copy(label)} value={value} />
            </dd>
          </div>
        ))}
      </dl>
      <p>
        <button type="button" onClick={onHide}>
          {words.hide}
        </button>
      </p>
    </section>
  )
}

function Copy({ label, value }: { readonly label: string; readonly value: string }) {
  const { outcome, copy } = useCopy(value)
  return (
    <button type="button" aria-label={outcome ?? label} onClick={copy}>
      {outcome ?? texts.units.copy}
    </button>
  )
}
