/** The portal of the organisation: its name, its logo and its colour, and whether it is on. */

import { useState } from 'preact/hooks'
import { change } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { useRead } from '../../api/use-read.ts'
import { Form } from '../../parts/dialog.tsx'
import { CheckField, TextField } from '../../parts/fields.tsx'
import { Page } from '../../parts/page.tsx'
import { Loaded } from '../../parts/states.tsx'
import { notify } from '../../parts/toast.tsx'
import { show } from '../../shell/brand.ts'
import { toShades } from '../../shell/shades.ts'
import { texts } from '../../texts.ts'
import { toBase64 } from './to-base64.ts'

type Portal = Answer<'/v1/portal'>

const words = texts.settings.portal
const NAME_LENGTH_MAX = 128
const COLOUR_LENGTH_MAX = 7

export function PortalSettings() {
  const reading = useRead('/v1/portal')
  return (
    <Page title={words.title}>
      <p class="quiet">{words.lead}</p>
      <Loaded reading={reading}>{(portal) => <Fields portal={portal} onChange={reading.reload} />}</Loaded>
    </Page>
  )
}

interface FieldsProps {
  readonly portal: Portal
  readonly onChange: () => void
}

function Fields({ portal, onChange }: FieldsProps) {
  const [enabled, setEnabled] = useState(portal.enabled)
  const [name, setName] = useState(portal.name ?? '')
  const [colour, setColour] = useState(portal.colour ?? '')
  const [file, setFile] = useState<File | null>(null)
  const [isRemoved, setRemoved] = useState(false)
  const isColour = colour === '' || toShades(colour) !== null
  const save = async (): Promise<void> => {
    const logo = isRemoved ? { logo: null } : file === null ? {} : { logo: await toBase64(file) }
    const body = { enabled, name: name.trim() === '' ? null : name.trim(), colour: colour === '' ? null : colour }
    show(await change('PATCH /v1/portal', {}, { ...body, ...logo }))
    setFile(null)
    setRemoved(false)
    notify(words.saved)
    onChange()
  }
  return (
    <Form submit={words.save} onSubmit={save} isDisabled={!isColour}>
      <CheckField label={words.enabled} value={enabled} onChange={setEnabled} />
      <TextField label={words.name} hint={words.nameHint} value={name} onChange={setName} lengthMax={NAME_LENGTH_MAX} />
      <TextField
        label={words.colour}
        hint={words.colourHint}
        value={colour}
        onChange={setColour}
        lengthMax={COLOUR_LENGTH_MAX}
      />
      {isColour ? <Preview colour={colour} /> : <p role="alert">{words.badColour}</p>}
      <label class="field">
        {words.logo}
        <input
          type="file"
          accept="image/png,image/jpeg,image/webp"
          onChange={({ currentTarget }) => setFile(currentTarget.files?.[0] ?? null)}
        />
        <span class="quiet">{words.logoHint}</span>
      </label>
      {portal.logoUrl !== null && (
        <>
          <p class="preview">
            <img src={portal.logoUrl} alt={words.logo} />
          </p>
          <CheckField label={words.removeLogo} value={isRemoved} onChange={setRemoved} />
        </>
      )}
    </Form>
  )
}

function Preview({ colour }: { readonly colour: string }) {
  const shades = colour === '' ? null : toShades(colour)
  if (shades === null) return null
  return (
    <dl class="facts">
      <dt>{words.preview}</dt>
      <dd>
        {words.light} <code>{shades.light}</code>
      </dd>
      <dd>
        {words.dark} <code>{shades.dark}</code>
      </dd>
    </dl>
  )
}
