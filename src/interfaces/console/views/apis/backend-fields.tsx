/** The fields of a backend: its targets with their weights, and which of its stored secrets stay. */

import { useRef } from 'preact/hooks'
import { keepFocus } from '../../parts/dialog.tsx'
import { CheckField, Fault, SelectField, TextField } from '../../parts/fields.tsx'
import { texts } from '../../texts.ts'
import {
  pointerOf,
  TARGETS_MAX,
  toInput,
  withoutTarget,
  withTarget,
  type Backend,
  type BackendDraft,
  type Balance,
  type TargetDraft,
} from './backend-draft.ts'

const words = texts.apis.backend
const MEMBERS = ['url', 'weight'] as const

interface BackendFieldsProps {
  readonly draft: BackendDraft
  readonly onChange: (draft: BackendDraft) => void
  /** The active backend; null: there is none. */
  readonly stored: Backend | null
  readonly hint: string
  readonly faultAt: (pointer: string) => string | undefined
}

export function BackendFields({ draft, onChange, stored, hint, faultAt }: BackendFieldsProps) {
  const { targets, balance } = draft
  const place = useRef<HTMLFieldSetElement>(null)
  const isSeveral = targets.length > 1
  const fault = faultAt('/backend/url') ?? faultAt('/backend/targets')
  const isShownAtTarget = targets.some((_, index) =>
    MEMBERS.some((member) => faultAt(pointerOf(draft, stored, index, member)) !== undefined),
  )
  return (
    <fieldset ref={place} class="backend">
      <legend>{words.title}</legend>
      {targets.map((_, index) => (
        <Target
          key={index}
          {...{ draft, onChange, stored, faultAt, index }}
          {...(index === 0 && { hint })}
          onRemove={() => {
            onChange(withoutTarget(draft, index))
            keepFocus(place.current)
          }}
        />
      ))}
      {fault !== undefined && !isShownAtTarget && <Fault>{fault}</Fault>}
      {isSeveral && (
        <SelectField
          label={words.balance}
          fault={faultAt('/backend/balance')}
          value={balance}
          onChange={(next) => onChange({ ...draft, balance: next as Balance })}
          options={Object.entries(words.balances)}
        />
      )}
      {targets.length < TARGETS_MAX && (
        <p>
          <button type="button" onClick={() => onChange(withTarget(draft))}>
            {words.addTarget}
          </button>
        </p>
      )}
      {stored !== null && toInput(draft, stored) !== undefined && (
        <KeptSecrets draft={draft} onChange={onChange} stored={stored} faultAt={faultAt} />
      )}
    </fieldset>
  )
}

interface TargetProps extends Omit<BackendFieldsProps, 'hint'> {
  readonly index: number
  readonly hint?: string
  readonly onRemove: () => void
}

/** The weight of a target means something beside others only. */
function Target({ draft, onChange, stored, faultAt, index, hint, onRemove }: TargetProps) {
  const { targets } = draft
  const { url = '', weight = '' } = targets[index] ?? {}
  const change = (part: Partial<TargetDraft>): void =>
    onChange({ ...draft, targets: targets.map((each, at) => (at === index ? { ...each, ...part } : each)) })
  return (
    <div class="target">
      <TextField
        type="url"
        label={words.url(index)}
        {...(hint !== undefined && { hint })}
        fault={faultAt(pointerOf(draft, stored, index, 'url'))}
        value={url}
        onChange={(next) => change({ url: next })}
        placeholder="http://10.0.0.7:3000"
      />
      {targets.length > 1 && (
        <>
          <TextField
            type="number"
            label={words.weightOf(index)}
            fault={faultAt(pointerOf(draft, stored, index, 'weight'))}
            value={weight}
            onChange={(next) => change({ weight: next })}
            placeholder="1"
          />
          <button type="button" aria-label={words.removeOf(index)} onClick={onRemove}>
            {words.remove}
          </button>
        </>
      )}
    </div>
  )
}

type KeptProps = Omit<BackendFieldsProps, 'hint' | 'stored'> & { readonly stored: Backend }

/** The values are not known here, so that they either stay or go. */
function KeptSecrets({ draft, onChange, stored: { tls, secretHeaders }, faultAt }: KeptProps) {
  const faultOfTls = faultAt('/backend/tls')
  const faultOfHeaders = faultAt('/backend/secretHeaders')
  return (
    <>
      {tls !== undefined && (
        <CheckField
          label={words.keepTls}
          value={draft.keepsTls}
          onChange={(keepsTls) => onChange({ ...draft, keepsTls })}
        />
      )}
      {faultOfTls !== undefined && <Fault>{faultOfTls}</Fault>}
      {secretHeaders !== undefined && secretHeaders.length > 0 && (
        <CheckField
          label={words.keepHeaders(secretHeaders.map(({ name }) => name))}
          value={draft.keepsSecretHeaders}
          onChange={(keepsSecretHeaders) => onChange({ ...draft, keepsSecretHeaders })}
        />
      )}
      {faultOfHeaders !== undefined && <Fault>{faultOfHeaders}</Fault>}
      {(tls !== undefined || secretHeaders !== undefined) && <p class="quiet">{words.keptOnly}</p>}
    </>
  )
}
