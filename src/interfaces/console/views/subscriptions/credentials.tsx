/**
 * The credentials of a subscription.
 *
 * The list is read without secrets. They are shown when they are created, and otherwise after an explicit request, which the audit log
 * records. They are in the memory of the view only, and gone when it closes.
 */

import { signal } from '@preact/signals'
import { useEffect, useState } from 'preact/hooks'
import { change, read } from '../../api/client.ts'
import type { Item } from '../../api/operations.ts'
import { useRead } from '../../api/use-read.ts'
import { ActionButton, ConfirmButton, DialogButton, Form } from '../../parts/dialog.tsx'
import { SelectField, TextField } from '../../parts/fields.tsx'
import { fromLines, Labels, LabelsField, toLines } from '../../parts/labels.tsx'
import { ListOf } from '../../parts/list.tsx'
import { Pages } from '../../parts/pages.tsx'
import { notify } from '../../parts/toast.tsx'
import { Id, State, Time } from '../../parts/values.tsx'
import { may, scopes } from '../../shell/person.ts'
import { texts } from '../../texts.ts'
import { Secrets } from './secrets.tsx'

type Path = '/v1/subscriptions/:id/credentials'
type Credential = Item<Path>

const PATH: Path = '/v1/subscriptions/:id/credentials'
const words = texts.credentials
const SCOPES_SHOWN_MAX = 2
const PAGE_MAX = '100'

/** The subscription that this person has just created, whose secrets are shown once. */
export const justCreated = signal('')

function mayReveal(): boolean {
  const held = scopes.value
  return held.has('credentials:reveal') || (!held.has('credentials:read') && held.has('credentials:read:own'))
}

interface CredentialsProps {
  readonly subscription: string
  /** "Mobile app at orders-v1". */
  readonly name: string
  /** Whether the address has the page of the list. */
  readonly isPaged?: boolean
}

export function Credentials({ subscription: id, name, isPaged = false }: CredentialsProps) {
  const cursor = isPaged ? Pages.query().cursor : ''
  const reading = useRead(PATH, { params: { id }, query: { reveal: 'false', limit: PAGE_MAX, cursor } })
  const { data } = reading
  const isAnyBound = data?.items.some(({ certificateThumbprint }) => certificateThumbprint !== null) ?? false
  const [shown, setShown] = useState<readonly Credential[] | null>(null)
  const reveal = async (): Promise<void> => {
    const { items } = await read(PATH, { params: { id }, query: { reveal: 'true', limit: PAGE_MAX, cursor } })
    setShown(items)
  }
  useEffect(() => {
    if (justCreated.value !== id) return
    justCreated.value = ''
    if (mayReveal()) void reveal().catch(() => undefined)
  }, [id])
  const onRotated = (items: readonly Credential[]): void => {
    setShown(items)
    reading.reload()
  }
  return (
    <>
      <p class="toolbar">
        {mayReveal() && <ActionButton label={words.reveal} onClick={reveal} />}
        {may('credentials:write') && <Rotation subscription={id} onRotated={onRotated} />}
      </p>
      {shown !== null && <Secrets of={shown} onHide={() => setShown(null)} />}
      <ListOf
        reading={{ ...reading, data: data === null || isPaged ? data : { ...data, next: null } }}
        caption={words.title}
        keyOf={(each: Credential) => each.id}
        empty={{ text: words.none, commands: [`tollgate credentials list ${id}`] }}
        columns={[
          { title: words.columns.name, cell: (each) => <Given of={each} /> },
          { title: words.columns.type, cell: ({ type }) => words.types[type] },
          { title: words.columns.state, cell: ({ state }) => <State of={words.states[state]} /> },
          { title: words.columns.scopes, cell: ({ scopes: held }) => <Scopes of={held} /> },
          ...(isAnyBound ? [CERTIFICATE] : []),
          { title: words.columns.used, cell: ({ lastUsedAt }) => <LastUse at={lastUsedAt} /> },
          { title: words.columns.expires, cell: ({ expiresAt }) => <Time at={expiresAt} /> },
          {
            title: words.columns.actions,
            cell: (each) => (
              <p class="toolbar">
                {may('credentials:write') && <Edit of={each} subscription={id} onSaved={reading.reload} />}
                <Revocation of={each} subscription={id} name={name} onRevoked={reading.reload} />
              </p>
            ),
          },
        ]}
      />
    </>
  )
}

/** The thumbprint of the client certificate over which a credential must be used. */
const CERTIFICATE = {
  title: words.columns.certificate,
  cell: ({ certificateThumbprint: bound }: Credential) =>
    bound === null ? <span class="quiet">{words.unbound}</span> : <Id value={bound} />,
}

/** The name, the client id or the beginning of the key, and the labels. */
function Given({ of }: { readonly of: Credential }) {
  return (
    <>
      {of.name !== null && <bdi class="text">{of.name}</bdi>} <Name of={of} />
      {Object.keys(of.labels).length > 0 && <Labels of={of.labels} />}
    </>
  )
}

function LastUse({ at }: { readonly at: string | null }) {
  return at === null ? <span class="quiet">{words.unused}</span> : <Time at={at} />
}

function Name({ of }: { readonly of: Pick<Credential, 'clientId' | 'keyPrefix' | 'id'> }) {
  return of.clientId === null ? <code>{nameOf(of)}</code> : <Id value={of.clientId} />
}

/** Many scopes would make the rows tall. */
function Scopes({ of }: { readonly of: readonly string[] }) {
  const list = <bdi class="text">{of.join(' ')}</bdi>
  if (of.length <= SCOPES_SHOWN_MAX) return list
  return (
    <details class="in-cell">
      <summary>{words.scopes(of.length)}</summary>
      {list}
    </details>
  )
}

interface EditProps {
  readonly of: Credential
  readonly subscription: string
  readonly onSaved: () => void
}

function Edit({ of, subscription: id, onSaved }: EditProps) {
  return (
    <DialogButton label={words.edit} title={words.editOf(nameOf(of))}>
      {(close) => <EditForm of={of} subscription={id} onSaved={() => (onSaved(), close())} />}
    </DialogButton>
  )
}

function EditForm({ of, subscription: id, onSaved }: EditProps) {
  const [given, setGiven] = useState(of.name ?? '')
  const [labels, setLabels] = useState(toLines(of.labels))
  const save = async (): Promise<void> => {
    const body = { name: given === '' ? null : given, labels: fromLines(labels) }
    await change('PATCH /v1/subscriptions/:id/credentials/:credentialId', { id, credentialId: of.id }, body)
    onSaved()
  }
  return (
    <Form submit={words.save} onSubmit={save}>
      <TextField label={words.givenName} hint={words.nameHint} value={given} onChange={setGiven} lengthMax={128} />
      <LabelsField value={labels} onChange={setLabels} />
    </Form>
  )
}

function nameOf({ clientId, keyPrefix, id }: Pick<Credential, 'clientId' | 'keyPrefix' | 'id'>): string {
  return clientId ?? (keyPrefix === null ? id : `${keyPrefix}…`)
}

interface RotationProps {
  readonly subscription: string
  readonly onRotated: (items: readonly Credential[]) => void
}

function Rotation({ subscription: id, onRotated }: RotationProps) {
  const [seconds, setSeconds] = useState('86400')
  const rotate = async (): Promise<void> => {
    const body = { overlapSeconds: Number(seconds) }
    const { items } = await change('POST /v1/subscriptions/:id/credentials/rotate', { id }, body)
    onRotated(items)
    notify(words.rotated)
  }
  return (
    <DialogButton label={words.rotate}>
      {(close) => (
        <Form submit={words.rotate} onSubmit={async () => rotate().then(close)}>
          <p>{words.rotation}</p>
          <SelectField
            label={words.overlap}
            value={seconds}
            onChange={setSeconds}
            options={Object.entries(words.overlaps)}
          />
        </Form>
      )}
    </DialogButton>
  )
}

interface RevocationProps {
  readonly of: Credential
  readonly subscription: string
  readonly name: string
  readonly onRevoked: () => void
}

function Revocation({ of, subscription: id, name, onRevoked }: RevocationProps) {
  if (!may('credentials:write') || of.state === 'Revoked' || of.state === 'Expired') return null
  const revoke = async (): Promise<void> => {
    const params = { id, credentialId: of.id }
    await change('DELETE /v1/subscriptions/:id/credentials/:credentialId', params, undefined)
    notify(words.revoked(nameOf(of)))
    onRevoked()
  }
  return (
    <ConfirmButton
      label={words.revoke}
      consequence={<bdi>{words.consequence(nameOf(of), name)}</bdi>}
      onConfirm={revoke}
    />
  )
}
