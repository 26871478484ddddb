/** Activates the staging revision for a part of the callers, or changes which part. Says what it will do before it does it. */

import { useState } from 'preact/hooks'
import { change, read } from '../../api/client.ts'
import { useLoaded } from '../../api/use-loaded.ts'
import { DialogButton, Form } from '../../parts/dialog.tsx'
import { SelectField, TextField } from '../../parts/fields.tsx'
import { Loaded } from '../../parts/states.tsx'
import { notify } from '../../parts/toast.tsx'
import { useFaults } from '../../parts/use-faults.ts'
import { may } from '../../shell/person.ts'
import { texts } from '../../texts.ts'
import { canaryText, effectOf, toRule, type CanaryRule } from './canary-words.ts'
import { ConsumerPicker, type Chosen } from './consumer-picker.tsx'
import type { Proxy } from './proxy.ts'

const words = texts.apis.canary
const FIRST_PERCENT = '10'
/** Names are read one by one. */
const NAMES_READ_MAX = 50

interface CanaryProps {
  readonly proxy: Proxy
  /** The staging revision. */
  readonly revision: number
  readonly onDone: () => void
}

export function CanaryButton(props: CanaryProps) {
  const { proxy, revision } = props
  const { canary, activeRevision } = proxy
  if (activeRevision === null) return null
  const label = canary === null ? words.begin(revision) : words.change
  return (
    <DialogButton label={label}>
      {(close) => <FirstChoice {...props} active={activeRevision} label={label} close={close} />}
    </DialogButton>
  )
}

interface FormProps extends CanaryProps {
  readonly active: number
  readonly label: string
  readonly close: () => void
}

function FirstChoice(props: FormProps) {
  const { id, canary } = props.proxy
  // Another person may change the canary while the form is open.
  const [ids] = useState(canary?.consumers ?? [])
  const reading = useLoaded(`canary ${id} ${ids.join(' ')}`, async (signal) => readNames(ids, signal))
  return <Loaded reading={reading}>{(first) => <CanaryForm {...props} first={first} />}</Loaded>
}

function CanaryForm({
  proxy,
  revision,
  active,
  label,
  close,
  onDone,
  first,
}: FormProps & { readonly first: readonly Chosen[] }) {
  const { id, canary } = proxy
  const [kind, setKind] = useState<string>(canary?.consumers === undefined ? 'percent' : 'consumers')
  const [percent, setPercent] = useState(canary?.percent === undefined ? FIRST_PERCENT : String(canary.percent))
  const [chosen, setChosen] = useState(first)
  const faults = useFaults()
  const rule: CanaryRule =
    kind === 'percent' ? { percent: Number(percent) } : { consumers: chosen.map((each) => each.id) }
  const names = chosen.map((each) => each.name || each.id)
  const effect = effectOf({ revision, active, rule, names })
  const activate = async (next: CanaryRule): Promise<void> => {
    await change('POST /v1/proxies/:id/activate', { id }, next)
    onDone()
  }
  const submit = async (): Promise<void> => {
    await faults.keep(async () => change('POST /v1/proxies/:id/activate', { id }, rule))
    close()
    notify(words.done(revision), canary === null ? null : async () => activate(toRule(canary)))
    onDone()
  }
  return (
    <Form submit={label} onSubmit={submit} isDisabled={kind === 'consumers' && chosen.length === 0}>
      {canary !== null && <p>{canaryText(canary)}</p>}
      <SelectField label={words.callers} value={kind} onChange={setKind} options={Object.entries(words.kinds)} />
      {kind === 'percent' ? (
        <TextField
          type="number"
          label={words.percent}
          hint={words.percentHint}
          fault={faults.at('/percent')}
          value={percent}
          onChange={setPercent}
          isRequired
        />
      ) : (
        <ConsumerPicker chosen={chosen} onChange={setChosen} fault={faultOf(faults.at, names)} />
      )}
      <p role="status">
        <bdi>{effect ?? words.incomplete[rule.percent === undefined ? 'consumers' : 'percent']}</bdi>
      </p>
    </Form>
  )
}

/** Names the consumer that was refused. */
function faultOf(at: (pointer: string) => string | undefined, names: readonly string[]): string | undefined {
  const index = names.findIndex((_, each) => at(`/consumers/${each}`) !== undefined)
  return index === -1 ? at('/consumers') : words.refused(names[index] ?? '', at(`/consumers/${index}`) ?? '')
}

async function readNames(ids: readonly string[], signal: AbortSignal): Promise<readonly Chosen[]> {
  const known = may('consumers:read') ? ids.slice(0, NAMES_READ_MAX) : []
  const found = await Promise.all(
    known.map(async (id) =>
      read('/v1/consumers/:id', { params: { id }, signal }).then(
        ({ name }) => ({ id, name }),
        // A consumer that was removed meanwhile has no name.
        () => ({ id, name: '' }),
      ),
    ),
  )
  return [...found, ...ids.slice(known.length).map((id) => ({ id, name: '' }))]
}
