/**
 * The page of an object that is edited as a whole. A change is refused if another person has saved in between (`If-Match`), and can be
 * undone; the removal asks first.
 */

import type { ComponentChildren } from 'preact'
import type { Reading } from '../api/use-read.ts'
import { go } from '../router.ts'
import { ConfirmButton, DialogButton } from './dialog.tsx'
import { Page } from './page.tsx'
import { Loaded } from './states.tsx'
import { notify } from './toast.tsx'

interface Version<Data> {
  readonly data: Data
  readonly etag: string
}

export interface FormOf<Input> {
  readonly first: Input
  readonly submit: string
  readonly onSubmit: (input: Input) => Promise<unknown>
}

interface VersionedPageProps<Data, Input> {
  readonly reading: Reading<Version<Data>>
  readonly words: {
    readonly one: string
    readonly edit: string
    readonly save: string
    readonly saved: string
    readonly remove: string
    readonly removed: string
    readonly consequence: (name: string) => string
  }
  /** Path of the list, which is shown after the removal. */
  readonly list: string
  readonly mayWrite: boolean
  readonly nameOf: (data: Data) => string
  readonly state?: (data: Data) => ComponentChildren
  readonly toInput: (data: Data) => Input
  /** Without an etag it replaces any version. */
  readonly patch: (input: Input, version: { readonly etag?: string }) => Promise<unknown>
  readonly remove: () => Promise<unknown>
  readonly form: (props: FormOf<Input>) => ComponentChildren
  readonly isWide?: boolean
  readonly children: (data: Data) => ComponentChildren
}

export function VersionedPage<Data, Input>(props: VersionedPageProps<Data, Input>) {
  const { reading, words, mayWrite, nameOf, state, children } = props
  const { data: version } = reading
  return (
    <Page
      title={version === null ? words.one : nameOf(version.data)}
      state={version !== null && state?.(version.data)}
      actions={mayWrite && version !== null && <Actions {...props} version={version} />}
    >
      <Loaded reading={reading}>{({ data }) => children(data)}</Loaded>
    </Page>
  )
}

interface ActionsProps<Data, Input> extends VersionedPageProps<Data, Input> {
  readonly version: Version<Data>
}

function Actions<Data, Input>(props: ActionsProps<Data, Input>) {
  const { reading, version, words, list, nameOf, toInput, patch, remove, form, isWide = false } = props
  const first = toInput(version.data)
  const save = async (input: Input): Promise<void> => {
    await patch(input, { etag: version.etag })
    reading.reload()
    notify(words.saved, async () => {
      await patch(first, {})
      reading.reload()
    })
  }
  const removeIt = async (): Promise<void> => {
    await remove()
    notify(words.removed)
    go(list)
  }
  return (
    <>
      <DialogButton label={words.edit} isWide={isWide}>
        {(close) => form({ first, submit: words.save, onSubmit: async (input) => save(input).then(close) })}
      </DialogButton>
      <ConfirmButton label={words.remove} consequence={words.consequence(nameOf(version.data))} onConfirm={removeIt} />
    </>
  )
}
