/** The page of a prompt that is written. */
import { watchMessages } from "./prompt_messages.js";

watchMessages(document.querySelector("[data-prompt-form]"), () => {});
