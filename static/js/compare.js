/** The compare page: the answers of a case open below its row. Without a script a link opens them. */
import { wireRows } from "./open_rows.js";

wireRows((address) => address);
